package script_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// An enterer enters the lines of some keys, or asks again.
type enterer struct {
	keys  []string
	place int64 // it has; 0 if it has none yet
	deaf  bool  // nobody has subscribed to its channel
}

// A standing is what it is told.
type standing struct {
	index  int64
	mode   string
	place  int64
	asksIn int64 // ms
	heard  int64
}

// enterAs has a waiter ask for its keys, and checks that it has to wait for them.
func (s *fixture) enterAs(t *testing.T, id string, e enterer) standing {
	t.Helper()
	f := fakeWaiter{id: id, write: e.keys, ttl: longLease}
	if !e.deaf && e.place == 0 {
		s.listen(t, f.channel(s))
	}
	var place proto.Place
	if e.place > 0 {
		place = proto.PlaceOf(e.place)
	}
	reply, _ := s.ask(t, f.waiterOf(s, place)).([]any)
	if len(reply) != 9 || reply[0] != int64(inLine) {
		t.Fatalf("got reply %v, want that it stands in line", reply)
	}
	return standing{reply[1].(int64), reply[2].(string), reply[5].(int64), reply[7].(int64), reply[8].(int64)}
}

// hold has somebody write-lock a key.
func (s *fixture) hold(t *testing.T, key string) {
	t.Helper()
	check.NoError(t, s.rdb.Set(t.Context(), key, "holder|holder", longLease).Err())
}

// The place of who comes is behind all others in each of its lines, also if they came later by the clock.
func TestPlaceIsBehindAll(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		later := time.Now().Add(time.Hour).UnixMicro()
		for _, name := range []string{"a", "b", "c"} {
			keys := []string{s.key(name + "a"), s.key(name + "b"), s.key(name + "c")}
			s.hold(t, keys[0])
			s.enters(t, fakeWaiter{id: "other", write: []string{s.key(name + name)}, place: later, ttl: longLease})
			line := slot.Beside("line", s.key(name+name))
			check.NoError(t, s.rdb.Expire(t.Context(), line, waiterLife).Err())
			if got := s.enterAs(t, "late", enterer{keys: keys}).place; got <= later {
				t.Errorf("got place %d behind one in the line of %s who has %d", got, name, later)
			}
			if ttl := s.rdb.PTTL(t.Context(), line).Val(); ttl <= waiterLife {
				t.Errorf("the line of %s lives %v", name, ttl)
			}
			s.wantLine(t, s.key(name+name), "other", "late")
		}
	})
}

// Whoever enters a line gives it a TTL also if it has just dropped the last who stood there, who had come in this second.
func TestLineOfTheDroppedLivesOn(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for _, round := range []string{"1", "2", "3"} { // a second may begin in one of them
			keys := []string{s.key("a" + round), s.key("b" + round)}
			s.hold(t, keys[0])
			s.enterAs(t, "deaf"+round, enterer{keys: keys[:1], deaf: true})
			check.NoError(t, s.rdb.Del(t.Context(), keys[0]).Err())
			s.hold(t, keys[1])
			s.enterAs(t, "next"+round, enterer{keys: keys})
			s.wantLine(t, keys[0], "next"+round)
			for _, key := range keys {
				if ttl := s.rdb.PTTL(t.Context(), slot.Beside("line", key)).Val(); ttl <= waiterLife {
					t.Errorf("the line of %q lives %v", key, ttl)
				}
			}
		}
	})
}

// Whoever enters a line gives it a TTL, or a longer one, unless another has just done so.
func TestLinesLiveOn(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for _, names := range [][]string{{"a"}, {"b", "c"}} {
			keys := make([]string, len(names))
			for i, name := range names {
				keys[i] = s.key(name)
			}
			lives := func(what string) {
				t.Helper()
				for _, key := range keys {
					if ttl := s.rdb.PTTL(t.Context(), slot.Beside("line", key)).Val(); ttl <= waiterLife {
						t.Errorf("%s: the line of %q lives %v", what, key, ttl)
					}
				}
			}
			s.hold(t, keys[0])
			s.enterAs(t, "first", enterer{keys: keys})
			lives("entered by the first")
			s.enterAs(t, "second", enterer{keys: keys})
			lives("entered by two at once")
			for _, key := range keys { // they came long ago
				line := slot.Beside("line", key)
				for i, text := range s.rdb.ZRange(t.Context(), line, 0, -1).Val() {
					check.NoError(t, s.rdb.ZAdd(t.Context(), line, redis.Z{Score: float64(i + 1), Member: text}).Err())
				}
				check.NoError(t, s.rdb.Expire(t.Context(), line, waiterLife).Err())
			}
			s.enterAs(t, "third", enterer{keys: keys})
			lives("entered much later")
			for _, key := range keys {
				check.NoError(t, s.rdb.Expire(t.Context(), slot.Beside("line", key), waiterLife).Err())
			}
			s.ages(t, keys, "first", time.Second)
			s.enterAs(t, "first", enterer{keys: keys, place: 1})
			lives("asked again")
		}
	})
}

// A waiter that asks again counts as alive from then on. What it has written a moment ago it does not write again.
func TestWhoAsksAgainIsAlive(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		keys := []string{s.key("a"), s.key("b")}
		entry := func(key string) string { return s.rdb.ZRange(t.Context(), slot.Beside("line", key), 0, 0).Val()[0] }
		s.hold(t, keys[0])
		began := time.Now()
		place := s.enterAs(t, "w", enterer{keys: keys}).place
		before := []string{entry(keys[0]), entry(keys[1])}
		if got := s.enterAs(t, "w", enterer{keys: keys, place: place}).place; got != place {
			t.Errorf("got place %d, want %d still", got, place)
		}
		if got := entry(keys[0]); got != before[0] && time.Since(began) < 400*time.Millisecond { // later it is due
			t.Errorf("at once: got entry %s, want %s still", got, before[0])
		}
		s.ages(t, keys, "w", time.Second)
		before = []string{entry(keys[0]), entry(keys[1])}
		s.enterAs(t, "w", enterer{keys: keys, place: place})
		for i, key := range keys {
			if got := entry(key); got <= before[i] {
				t.Errorf("after a while: got entry %s, want one that lives longer than %s", got, before[i])
			}
			s.wantLine(t, key, "w")
		}
	})
}

// A waiter that was written in the first of its lines a moment ago, and has lost its entry in another, gets it back.
func TestWhoAsksAgainStandsEverywhere(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		keys := []string{s.key("a"), s.key("b")}
		s.hold(t, keys[0])
		place := s.enterAs(t, "w", enterer{keys: keys}).place
		check.NoError(t, s.rdb.Del(t.Context(), slot.Beside("line", keys[1])).Err())
		s.enterAs(t, "w", enterer{keys: keys, place: place})
		s.wantLine(t, keys[1], "w")
	})
}

// The first in a line is told whether anybody hears its channel, and when the lease before it is over.
func TestFirstInLineIsHeard(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for _, names := range [][]string{{"a"}, {"b", "c"}} {
			keys := make([]string, len(names))
			for i, name := range names {
				keys[i] = s.key(name)
			}
			for _, deaf := range []bool{true, false} {
				s.hold(t, keys[len(keys)-1])
				e := enterer{keys: keys, deaf: deaf}
				id := map[bool]string{true: "deaf", false: "hears"}[deaf] + strings.Join(names, "")
				for range 2 { // it enters, and asks again
					got := s.enterAs(t, id, e)
					if (got.heard == 0) != deaf || got.asksIn <= 0 {
						t.Errorf("%s: got %+v, want heard %v, and when the lease is over", id, got, !deaf)
					}
					e.place = got.place
				}
				check.NoError(t, s.rdb.Del(t.Context(), linesOf(keys)...).Err())
			}
		}
	})
}

// A refusal names the first key that is in the way, whatever is in the way of the others.
func TestRefusalNamesTheFirst(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for what, want := range map[string]struct {
			mode string
			do   func(key string)
		}{
			"somebody waits": {"queue", func(key string) {
				s.enters(t, fakeWaiter{id: "waits", write: []string{key}, place: 1, ttl: longLease})
			}},
			"somebody reads": {"read", func(key string) {
				z := redis.Z{Score: float64(time.Now().Add(longLease).UnixMilli()), Member: "reader|reader"}
				check.NoError(t, s.rdb.ZAdd(t.Context(), key, z).Err())
				check.NoError(t, s.rdb.Expire(t.Context(), key, longLease).Err())
			}},
			"somebody writes": {"write", func(key string) { s.hold(t, key) }},
		} {
			for _, rest := range []string{"is free", "is held", "somebody waits for it"} {
				keys := []string{s.key(what + rest + "1"), s.key(what + rest + "2"), s.key(what + rest + "3")}
				want.do(keys[1])
				switch rest {
				case "is held":
					s.hold(t, keys[2])
				case "somebody waits for it":
					s.enters(t, fakeWaiter{id: "waits too", write: keys[2:], place: 2, ttl: longLease})
				}
				value := "mine"
				for script, set := range map[string]proto.Set{"obtain": lockKeys(keys, nil), "rw": fencedKeys(keys...)} {
					reply, _ := s.ask(t, &proto.Obtain{Set: set, Value: &value, TTL: time.Minute}).([]any)
					if len(reply) != 5 || reply[1] != int64(2) || reply[2] != want.mode {
						t.Errorf("%s, at the second key %s, and the third %s: got reply %v", script, what, rest, reply)
					}
				}
			}
		}
	})
}

// One that may read some of its keys already, under other metadata, is not granted them by a script that does not look for that,
// but told to ask. Who waits for one key, or writes all, is granted them.
func TestWhoMayReadAlreadyIsTold(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for i, c := range []struct {
			unsure        bool // it may read some of its keys already
			writes, reads int
			want          string
		}{
			{true, 0, 2, "w|%s"},
			{true, 1, 1, "w|%s"},
			{false, 0, 2, "g|%s…"},
			{false, 1, 1, "g|%s…"},
			{true, 0, 1, "g|%s…"},
			{true, 2, 0, "g|%s…"},
			{true, 3, 0, "g|%s…"},
		} {
			keys := numbered(s.key(fmt.Sprint("set", i)), c.writes+c.reads)
			for _, key := range keys {
				check.NoError(t, s.rdb.Set(t.Context(), key, "mine", longLease).Err())
			}
			f := fakeWaiter{id: fmt.Sprint("waits", i), write: keys[:c.writes], read: keys[c.writes:], ttl: longLease}
			s.listen(t, f.channel(s))
			check.Must[any](t)(s.send(t, runOf(f.waiterOf(s, proto.Place{}), owners.Stamp{Known: c.unsure})))
			s.release(t, keys, "mine")
			s.wantMessages(t, fmt.Sprintf(c.want, f.id))
		}
	})
}
