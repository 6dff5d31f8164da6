package script_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// However many waiters are gone, one run of a script drops some of them, and says that there are more. To run it again drops
// the others.
func TestScriptDropsSome(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	const waiters, least, most = 2000, 500 - 3, 500 + 3 // entries
	for name, run := range map[string]func(t *testing.T, s *fixture, keys []string) any{
		"release": func(t *testing.T, s *fixture, keys []string) any {
			t.Helper()
			return s.release(t, keys, "nobody")
		},
		"obtain": func(t *testing.T, s *fixture, keys []string) any {
			t.Helper()
			check.NoError(t, s.rdb.Del(t.Context(), keys...).Err())
			value := "mine"
			return s.ask(t, &proto.Obtain{Set: lockKeys(keys, nil), Value: &value, TTL: longLease})
		},
		"rw": func(t *testing.T, s *fixture, keys []string) any {
			t.Helper()
			check.NoError(t, s.rdb.Del(t.Context(), keys...).Err())
			return s.ask(t, fakeWaiter{id: "waiter", as: "mine", read: keys, ttl: longLease}.waiterOf(s, unknown))
		},
	} {
		for _, dead := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, dead=%v", name, dead), func(t *testing.T) {
				s := newFixture(t, server)
				keys := numbered(s.prefix, 3)
				var all []fakeWaiter
				for i := range waiters {
					all = append(all, fakeWaiter{id: fmt.Sprintf("gone%018d", i), write: keys, place: int64(i + 1), ttl: longLease, gone: true, dead: dead})
				}
				s.enters(t, all...)
				left := 3 * waiters
				for more := true; more; {
					reply := fmt.Sprint(run(t, s, keys))
					more = strings.HasSuffix(reply, " more]")
					before := left
					left = 0
					for _, key := range keys {
						left += int(s.rdb.ZCount(t.Context(), slot.Beside("line", key), "1", fmt.Sprint(waiters)).Val())
					}
					if before-left > most || more && before-left < least {
						t.Fatalf("a script has dropped %d entries, want %d to %d", before-left, least, most)
					}
				}
				if left > 0 {
					t.Errorf("%d entries are left", left)
				}
			})
		}
	}
}

// A refusal that names one key does not read what is stored at all others.
func TestRefusalReadsSome(t *testing.T) {
	t.Parallel()
	const keysOfSet, chunk = 5000, 1000
	c := newCounted(t, redislock.WithMaxKeys(keysOfSet))
	keys := numbered("key ", keysOfSet)
	value := "somebody|" + strings.Repeat("x", 4096)
	for name, held := range map[string][]string{"all": keys, "from the third on": keys[2:], "the last ones": keys[chunk*3+5:]} {
		t.Run(name, func(t *testing.T) {
			check.NoError(t, c.admin.FlushAll(t.Context()).Err())
			pipe := c.admin.Pipeline()
			for _, key := range held {
				pipe.Set(t.Context(), key, value, longLease)
			}
			check.Must[[]redis.Cmder](t)(pipe.Exec(t.Context()))
			for _, opt := range []*redislock.Options{nil, {Fenced: true}} {
				read := c.bytes(t, func() {
					_, err := c.client.Obtain(t.Context(), keys, time.Minute, opt)
					check.Is(t, err, redislock.ErrNotObtained)
				})
				if most := (chunk + 1) * (len(value) + 100); read > most {
					t.Errorf("a refusal reads %d bytes, want at most %d", read, most)
				}
			}
		})
	}
}
