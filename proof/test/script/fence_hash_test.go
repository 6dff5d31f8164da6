package script_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A numbered key is read by others while its hash has numbers, the last of which was given long ago. Two of the numbers are those
// of `reader 0`, and the greatest one.
type numberedKey struct {
	readers, numbers int
	anew             bool // the hash is to begin anew
}

func (s *fixture) plantNumbers(t *testing.T, key string, k numberedKey) {
	t.Helper()
	var readers []redis.Z
	for i := range k.readers {
		readers = append(readers, redis.Z{Score: float64(time.Now().Add(longLease).UnixMilli()), Member: fmt.Sprint("reader ", i)})
	}
	fields := []any{"", 9, "reader 0", 7}
	for i := 2; i < k.numbers; i++ {
		fields = append(fields, fmt.Sprint("dead ", i), 1)
	}
	check.NoError(t, s.rdb.ZAdd(t.Context(), key, readers...).Err())
	check.NoError(t, s.rdb.PExpire(t.Context(), key, longLease).Err())
	check.NoError(t, s.rdb.HSet(t.Context(), slot.Beside("fence", key), fields...).Err())
}

// The numbers of dead readers go once there are 64 more numbers than two for each reader. So they stay with many readers: a
// script keeps the numbers of at most 256 of them, of all its keys.
func TestHashBeginsAnew(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		for i, keys := range [][]numberedKey{ // the one that asks is another reader of each key
			{{9, 2*10 + 64, true}},
			{{9, 2*10 + 63, false}},
			{{255, 2*256 + 64, true}},
			{{256, 2*257 + 64, false}},
			{{127, 400, true}, {127, 400, true}},
			{{127, 400, true}, {128, 400, false}, {127, 400, true}},
		} {
			set, value := proto.Set{}, "mine"
			for k, its := range keys {
				set.Keys = append(set.Keys, s.key(fmt.Sprint(i, " ", k)))
				s.plantNumbers(t, set.Keys[k], its)
				set.Fences = append(set.Fences, slot.Beside("fence", set.Keys[k]))
			}
			set.Lines = linesOf(set.Keys)
			s.ask(t, &proto.Obtain{Set: set, Value: &value, TTL: time.Minute, Intents: intentsOf(set.Keys)})
			for k, its := range keys {
				want := its.numbers + 1
				if its.anew {
					want = 3
				}
				if got := s.rdb.HGetAll(t.Context(), set.Fences[k]).Val(); len(got) != want || got["reader 0"] != "7" || got["mine"] == "" {
					t.Errorf("key %d of %v: %d numbers are left, want %d", k, keys, len(got), want)
				}
			}
		}
	})
}

func intentsOf(keys []string) (intents []string) {
	for _, key := range keys {
		intents = append(intents, slot.Beside("intent", key))
	}
	return intents
}

// A hash lives a day after its last number, which is renewed once an hour: so nothing is done for a lease of up to half a day.
// For a longer one it is renewed every time, and begins anew.
func TestHashIsKeptForAnHour(t *testing.T) {
	t.Parallel()
	withFixture(t, func(t *testing.T, s *fixture) {
		const hour = 3_600_000_000 // µs
		for ttl, renewed := range map[time.Duration]bool{
			time.Minute: false, 9 * time.Hour: false, 12 * time.Hour: false, 12*time.Hour + time.Millisecond: true,
		} {
			key, mine := s.key(ttl.String()), "mine"
			fence, now := slot.Beside("fence", key), int64(700_000*hour+hour/2)
			check.NoError(t, s.rdb.HSet(t.Context(), fence, "", now-1, "dead", 1).Err())
			check.NoError(t, s.rdb.Expire(t.Context(), fence, 25*time.Hour).Err())
			got := s.play(t, &proto.Obtain{Set: fencedKeys(key), Value: &mine, TTL: ttl}, owners.Stamp{}, clockAt(now))
			left := s.rdb.HExists(t.Context(), fence, "dead").Val()
			if done := len(got.those("pexpire "+fence)) > 0; done != renewed || left == renewed || got.at(1) != now {
				t.Errorf("for %v: got %v, and the hash is renewed: %t, want %t", ttl, got.reply, done, renewed)
			}
		}
	})
}
