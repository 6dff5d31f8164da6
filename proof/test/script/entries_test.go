package script_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// says puts other texts in the place of the entries in the line of a key.
func (s *fixture) says(t *testing.T, key string, other func(text string) string) {
	t.Helper()
	line := slot.Beside("line", key)
	for _, z := range check.Must[[]redis.Z](t)(s.rdb.ZRangeWithScores(t.Context(), line, 0, -1).Result()) {
		text := z.Member.(string)
		check.NoError(t, s.rdb.ZAdd(t.Context(), line, redis.Z{Score: z.Score, Member: other(text)}).Err())
		if other(text) != text {
			check.NoError(t, s.rdb.ZRem(t.Context(), line, text).Err())
		}
	}
}

// withLetters is an entry that says more of how its waiter waits, as a later version may write it.
func withLetters(text string) string {
	parts := strings.SplitN(text, "|", 4)
	parts[2] += "xyz"
	return strings.Join(parts, "|")
}

// A waiter is taken out of the line of each of its keys by one command, whether it is granted the keys, or is gone: the script
// knows what its entries say, be they alive for another time, or with more letters.
func TestEntryIsTakenOutAtOnce(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for _, changed := range []string{"nothing", "another time", "more letters"} {
			for _, w := range []fakeWaiter{{id: "granted"}, {id: "gone", gone: true}, {id: "dead", dead: true}} {
				for _, reads := range []int{0, 1} {
					name := fmt.Sprintf("%s, %s, %d ", w.id, changed, reads)
					home, other := s.key(name+"a"), s.key(name+"b")
					keys := []string{home, other}
					w.write, w.read, w.place, w.ttl = keys[:2-reads], keys[2-reads:], 1, longLease
					s.holds(t, "mine|before", keys...)
					s.enters(t, w)
					switch changed {
					case "another time": // it is met at the other key first
						s.ages(t, keys[1:], w.id, time.Minute)
						keys = []string{other, home}
					case "more letters":
						s.says(t, home, withLetters)
						s.says(t, other, withLetters)
					}
					value := "mine"
					got := s.play(t, &proto.Release{Set: lockKeys(keys, nil), Value: &value}, owners.Stamp{}, "")
					granted := s.rdb.Exists(t.Context(), keys...).Val() == 2
					if n := len(got.those("zrem")); n != 2 || granted != (w.id == "granted") || len(s.line(t, home))+len(s.line(t, other)) > 0 {
						t.Errorf("%s: it was taken out by %d commands, want 2, and was granted the keys: %t", name, n, granted)
					}
				}
			}
		}
	})
}

// A waiter that cannot be given a number is told to ask, and is not asked again whether it hears.
func TestWaiterWithoutNumberIsAskedOnce(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		keys, value := []string{s.key("a"), s.key("b"), s.key("c")}, "mine"
		set := fencedKeys(keys...)
		s.holds(t, value, keys...)
		check.NoError(t, s.rdb.Set(t.Context(), set.Fences[0], "something else", longLease).Err())
		wants := fakeWaiter{id: "wants", write: keys[:1], place: 1, ttl: longLease, fenced: true}
		s.enters(t, wants, fakeWaiter{id: "gone", write: keys[1:], place: 2, ttl: longLease, gone: true})
		got := s.play(t, &proto.Release{Set: set, Value: &value, Channel: "own"}, owners.Stamp{}, "")
		asked := 0
		for _, command := range got.those("publish " + wants.channel(s)) {
			if strings.HasSuffix(command, " ") {
				asked++
			}
		}
		if asked != 1 {
			t.Errorf("it was asked %d times, want once", asked)
		}
		s.wantLine(t, keys[0], "wants")
	})
}

// Of waiters that are gone and wait for other keys as well, a script drops as many entries as of others, and says that there are
// more.
func TestScriptDropsSomeOfOtherSets(t *testing.T) {
	t.Parallel()
	withServer(t, func(t *testing.T, s *fixture) {
		const most = 500
		for _, n := range []int{most, most + 1} {
			key := s.key(fmt.Sprint(n))
			s.holds(t, "mine", key)
			var all []fakeWaiter
			for i := range n {
				w := fakeWaiter{id: fmt.Sprint("w", i), place: int64(i + 1), ttl: longLease, gone: true}
				w.write = []string{key, s.key("elsewhere")}
				all = append(all, w)
			}
			s.enters(t, all...)
			reply := s.release(t, []string{key}, "mine")
			if left, more := len(s.line(t, key)), strings.HasSuffix(fmt.Sprint(reply), " more]"); left != n-most || more != (n > most) {
				t.Errorf("of %d: got %v, and %d are left, want %d", n, reply, left, n-most)
			}
		}
	})
}

// A script that has to pass over waiters reads 64 of them at a time, behind the first two.
func TestLineIsReadInParts(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for n, want := range map[int][]string{
			65: {"0 1", "2 65"}, 66: {"0 1", "2 65", "66 129"}, 129: {"0 1", "2 65", "66 129"}, 130: {"0 1", "2 65", "66 129", "130 193"},
		} {
			key, value := s.key(fmt.Sprint(n)), "mine"
			var all []fakeWaiter
			for i := range n {
				all = append(all, fakeWaiter{id: fmt.Sprint("w", i), read: []string{key}, place: int64(i + 1), ttl: longLease, gone: true})
			}
			s.enters(t, all...)
			q := &proto.Obtain{Set: lockKeys(nil, []string{key}), Value: &value, TTL: longLease, Intents: intentsOf([]string{key})}
			got := s.play(t, q, owners.Stamp{}, "")
			line := "zrange " + slot.Beside("line", key)
			var parts []string
			for _, command := range got.those(line) {
				parts = append(parts, strings.TrimSuffix(strings.TrimPrefix(command, line+" "), " withscores"))
			}
			if got.reply != int64(1) || !slices.Equal(parts, want) {
				t.Errorf("of %d: got %v, and read %q, want %q", n, got.reply, parts, want)
			}
		}
	})
}

// A waiter that has its key takes its own entry out of the line, however long that has been dead, and not what somebody else has
// written there under its id.
func TestOwnEntryIsTakenOut(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		key := s.key("a")
		w := fakeWaiter{id: "waiter", write: []string{key}, place: 5, ttl: longLease}
		s.holds(t, w.value(), key)
		s.enters(t, w)
		s.says(t, key, func(text string) string { return "waiter|0|" + strings.SplitN(text, "|", 3)[2] })
		line, foreign := slot.Beside("line", key), "waiter|!"
		check.NoError(t, s.rdb.ZAdd(t.Context(), line, redis.Z{Score: 5, Member: foreign}).Err())
		reply := s.ask(t, w.waiterOf(s, proto.PlaceOf(5)))
		if left := s.rdb.ZRange(t.Context(), line, 0, -1).Val(); reply != int64(1) || !slices.Equal(left, []string{foreign}) {
			t.Errorf("got %v, and in line are %q, want only %q", reply, left, foreign)
		}
	})
}
