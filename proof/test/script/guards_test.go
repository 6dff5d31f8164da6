package script_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// guardScore is the score of a guard that ends so many seconds from now.
func (s *fixture) guardScore(t *testing.T, seconds, number int64) float64 {
	t.Helper()
	now := check.Must[time.Time](t)(s.rdb.Time(t.Context()).Result())
	return float64(int64(1)<<52 + (now.Unix()+seconds)<<20 + number)
}

// setGuard puts a guard into the line of a key.
func (s *fixture) setGuard(t *testing.T, key, id string, seconds, number int64) {
	t.Helper()
	line := slot.Beside("line", key)
	check.NoError(t, s.rdb.ZAdd(t.Context(), line, redis.Z{Score: s.guardScore(t, seconds, number), Member: id}).Err())
	if s.rdb.PTTL(t.Context(), line).Val() < time.Hour {
		check.NoError(t, s.rdb.Expire(t.Context(), line, time.Hour).Err())
	}
}

// guards returns the numbers of the guards in the line of a key, by id.
func (s *fixture) guards(t *testing.T, key string) map[string]int64 {
	t.Helper()
	found := make(map[string]int64)
	for _, z := range check.Must[[]redis.Z](t)(s.rdb.ZRangeWithScores(t.Context(), slot.Beside("line", key), 0, -1).Result()) {
		if z.Score >= 1<<52 {
			found[z.Member.(string)] = (int64(z.Score) - 1<<52) & (1<<20 - 1)
		}
	}
	return found
}

func (s *fixture) wantGuards(t *testing.T, key string, want map[string]int64) {
	t.Helper()
	if got := s.guards(t, key); !maps.Equal(got, want) {
		t.Fatalf("got guards %v in the line of %q, want %v", got, key, want)
	}
}

// A writer is a script with arguments of which one is a stamp.
type writer struct {
	script string
	args   func(value, stamp, closes string) []any
}

// lined reports whether the script has the line of each of its keys at hand without being given it.
func (w writer) lined() bool { return w.script != "refresh" && w.script != "raise" }

// writers are all scripts that change what a token holds.
func (s *fixture) writers() map[string]writer {
	channel := "redislock:wake:" + s.prefix + "waiter"
	return map[string]writer{
		"obtain": {"obtain", func(v, st, c string) []any { return headOf(v, time.Minute, 1, 1, c, st) }},
		"intent": {"rw", func(v, st, c string) []any { return headOf(v, time.Minute, 1, 1, c, st) }},
		"queue": {"rw", func(v, st, c string) []any {
			entry := fmt.Sprintf("wp--|60000|1|%d|0|%s", len(channel), channel)
			return append(headOf(v, time.Minute, 1, 1, c, st), "waiter", "", entry)
		}},
		"read":    {"rw", func(v, st, c string) []any { return headOf(v, time.Minute, 1, 0, c, st) }},
		"refresh": {"refresh", func(v, st, c string) []any { return headOf(v, time.Minute, 1, 1, c, st) }},
		"upgrade": {"convert", func(v, st, c string) []any { return headOf(v, time.Minute, 1, 1, c, st) }},
		"release": {"release", func(v, st, c string) []any { return headOf(v, 0, 1, 1, c, st) }},
		"raise":   {"raise", func(v, st, c string) []any { return append(headOf(v, time.Minute, 1, 1, c+"f", st), 7) }},
	}
}

// send runs a script of the table on one key as a call would: with its line where that is asked for.
func (s *fixture) send(t *testing.T, w writer, key, value, stamp, closes string) (any, error) {
	t.Helper()
	line := slot.Beside("line", key)
	keys := []string{key, line}
	if w.script == "rw" && w.args("", "", "")[2] == "1|0|" {
		keys = append(keys, slot.Beside("intent", key)) // of a reader
	}
	if w.script == "raise" {
		keys = append(keys, slot.Beside("fence", key))
	}
	stamp = strings.ReplaceAll(stamp, "LINE", fmt.Sprint(slices.Index(keys, line)+1))
	return s.rdb.Eval(t.Context(), check.SourceOf(w.script), keys, w.args(value, stamp, closes)...).Result()
}

// dump is all that is in Redis for a key and beside it.
func (s *fixture) dump(t *testing.T, key string) string {
	t.Helper()
	ctx, text := t.Context(), ""
	for _, k := range []string{key, slot.Beside("line", key), slot.Beside("fence", key), slot.Beside("intent", key)} {
		switch s.rdb.Type(ctx, k).Val() {
		case "string":
			text += fmt.Sprintln(k, s.rdb.Get(ctx, k).Val(), s.rdb.PTTL(ctx, k).Val() > 2*time.Minute)
		case "zset":
			text += fmt.Sprintln(k, s.rdb.ZRangeWithScores(ctx, k, 0, -1).Val())
		case "hash":
			text += fmt.Sprintln(k, s.rdb.HGetAll(ctx, k).Val())
		}
	}
	return text
}

// Whatever a script would do, short cuts included: behind a guard with a greater number it does nothing.
// With the same number, or behind a guard that has ended, it does it.
func TestGuardOvertakes(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for name, w := range s.writers() {
			for _, held := range []string{"free", "mine", "mine, somebody waits", "another's", "another's, somebody waits"} {
				key, ctx := s.key(name+held), t.Context()
				prepare := func(t *testing.T, seconds, number int64) {
					t.Helper()
					s.rdb.Del(ctx, key, slot.Beside("line", key))
					switch {
					case strings.HasPrefix(held, "mine"):
						s.rdb.Set(ctx, key, "mine|of before", 10*time.Minute)
					case strings.HasPrefix(held, "another's"):
						s.rdb.Set(ctx, key, "other", 10*time.Minute)
					}
					if strings.HasSuffix(held, "somebody waits") {
						s.enters(t, fakeWaiter{id: "somebody", write: []string{key}, place: 7, ttl: time.Minute})
					}
					s.setGuard(t, key, "id", seconds, number)
				}
				prepare(t, 100, 3)
				before := s.dump(t, key)
				reply, err := s.send(t, w, key, "mine|new", "id|2|", "")
				check.NoError(t, err)
				if after := s.dump(t, key); reply != int64(overtaken) || after != before {
					t.Errorf("%s of a key that is %s: got reply %v, and\n%s, want overtaken, and\n%s", name, held, reply, after, before)
				}
				for _, guard := range [][2]int64{{100, 2}, {-1, 3}} {
					prepare(t, guard[0], guard[1])
					reply, err := s.send(t, w, key, "mine|new", "id|2|", "")
					check.NoError(t, err)
					if reply == int64(overtaken) {
						t.Errorf("%s of a key that is %s: overtaken by %v", name, held, guard)
					}
				}
			}
		}
	})
}

// Each script sets the guards of its stamp: in a new line, with a TTL that lasts as long, and in one where
// somebody waits; none is made lower, and those that have ended go.
func TestGuardIsSet(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		writers, letters := s.writers(), map[string]string{}
		for _, name := range []string{"obtain", "intent", "queue", "read"} { // which name all that is in the way
			writers[name+", all"], letters[name+", all"] = writers[name], "a"
		}
		for name, w := range writers {
			key := s.key(name)
			send := func(number int) {
				t.Helper()
				_, err := s.send(t, w, key, "mine", fmt.Sprintf("id|%d|id|%d|LINE|other|4|LINE|", number, number), "c"+letters[name])
				check.NoError(t, err)
			}
			send(2)
			s.wantGuards(t, key, map[string]int64{"id": 2, "other": 4})
			if ttl := s.rdb.PTTL(t.Context(), slot.Beside("line", key)).Val(); ttl < 300*time.Second {
				t.Errorf("%s: a line lives %v, its guards 300s", name, ttl)
			}
			s.setGuard(t, key, "ended", -1, 9)
			s.setGuard(t, key, "other", 100, 6)
			s.enters(t, fakeWaiter{id: "somebody", write: []string{key}, place: 7, ttl: time.Minute})
			send(3)
			s.wantGuards(t, key, map[string]int64{"id": 3, "other": 6})
		}
	})
}

// A line of guards keeps nobody out, a waiter that comes after them has a place before them, and the TTL of the line is
// never lowered. Inspect shows no guard.
func TestGuardsAreNoWaiters(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		ctx, key := t.Context(), s.key("a")
		s.setGuard(t, key, "token-of-others", 100, 1)
		s.setGuard(t, key, "ended", -1, 1)
		for _, opt := range []*redislock.Options{nil, {Fenced: true}, {Queue: true}} {
			lock, err := s.client.Obtain(ctx, []string{key}, time.Minute, opt)
			check.NoError(t, err)
			check.NoError(t, lock.Release(ctx))
		}
		read, err := s.client.ObtainRead(ctx, []string{key}, time.Minute, nil)
		check.NoError(t, err)
		check.NoError(t, read.Downgrade(ctx))
		check.NoError(t, read.Release(ctx))
		s.wantGuards(t, key, map[string]int64{"token-of-others": 1})

		holder, err := s.client.Obtain(ctx, []string{key}, time.Minute, nil)
		check.NoError(t, err)
		s.enters(t, fakeWaiter{id: "first", write: []string{key}, place: 7, ttl: time.Minute})
		s.rdb.Expire(ctx, slot.Beside("line", key), time.Hour)
		_, err = s.send(t, s.writers()["queue"], key, "later", "", "")
		check.NoError(t, err)
		s.wantLine(t, key, "first", "waiter", "token-of-others")
		if ttl := s.rdb.PTTL(ctx, slot.Beside("line", key)).Val(); ttl < time.Minute {
			t.Errorf("the line lives %v, and had an hour", ttl)
		}
		states, err := s.client.Inspect(ctx, []string{key})
		check.NoError(t, err)
		if n := len(states[0].Line); n != 2 {
			t.Errorf("got %d waiters, want 2", n)
		}
		check.NoError(t, holder.Release(ctx))
	})
}

// A full server refuses an Obtain that has guards to set before it writes anything, and lets a release set
// them.
func TestGuardOutOfMemory(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		s := newFixture(t, redistest.Start(t, kind))
		ctx, key := t.Context(), s.key("a")
		check.NoError(t, s.rdb.Set(ctx, key, "mine", time.Minute).Err())
		check.NoError(t, s.rdb.ConfigSet(ctx, "maxmemory", "1").Err())
		for _, name := range []string{"obtain", "read", "queue"} {
			other := s.key(name)
			_, err := s.send(t, s.writers()[name], other, "mine", "id|1|id|1|LINE|", "c")
			if err == nil || !strings.Contains(err.Error(), "OOM") || s.dump(t, other) != "" {
				t.Errorf("%s: got error %v, and %q", name, err, s.dump(t, other))
			}
		}
		for _, name := range []string{"refresh", "release"} {
			reply, err := s.send(t, s.writers()[name], key, "mine", "id|1|id|1|LINE|", "c")
			if err != nil || reply != int64(1) {
				t.Errorf("%s: got %v, %v", name, reply, err)
			}
			s.wantGuards(t, key, map[string]int64{"id": 1})
			s.rdb.Del(ctx, slot.Beside("line", key))
		}
	})
}

// A release does not free what it is to spare, or only where a mark stands in its home line.
func TestGuardMarksSpare(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		key := s.key("a")
		s.setGuard(t, key, "there", 100, 1)
		for _, c := range []struct {
			spared []any
			freed  bool
		}{
			{[]any{"1"}, false},
			{[]any{"1|there"}, false},
			{[]any{"1|elsewhere"}, true},
			{[]any{"1", "1|elsewhere"}, false},
			{[]any{"1|elsewhere", "1|there"}, false},
		} {
			check.NoError(t, s.rdb.Set(t.Context(), key, "mine", time.Minute).Err())
			s.run(t, "release", []string{key}, append([]any{"mine", "", "", "", "", "", ""}, c.spared...)...)
			if freed := s.rdb.Exists(t.Context(), key).Val() == 0; freed != c.freed {
				t.Errorf("spared %v: freed: %t", c.spared, freed)
			}
		}
	})
}
