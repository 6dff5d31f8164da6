package guard_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// An Obtain of a token that holds the keys already leaves them the longer of the two leases, and replaces the value,
// whatever the modes are.
func TestObtainShortensNoLease(t *testing.T) {
	type modes struct{ write, read []string }
	all := map[string]modes{
		"write": {write: []string{"a", "b"}}, "read": {read: []string{"a", "b"}},
		"mixed": {write: []string{"a"}, read: []string{"b"}}, "one": {write: []string{"a"}},
	}
	for first, before := range all {
		for second, after := range all {
			t.Run(first+", then "+second, func(t *testing.T) {
				world.Scenario(t, func(t *testing.T, w *world.World) {
					obtain := func(m modes, ttl time.Duration, metadata string) *redislock.Lock {
						t.Helper()
						return check.Must[*redislock.Lock](t)(w.Client.As(t.Name()).ObtainSet(t.Context(), redislock.Set{Write: w.Keys(m.write...), Read: w.Keys(m.read...)}, ttl,
							&redislock.Options{Metadata: metadata}))
					}
					one := obtain(before, world.Long, "one")
					other := obtain(after, time.Minute, "other")
					for _, lock := range []*redislock.Lock{one, other} {
						for _, key := range lock.Keys() {
							if ttl := check.Must[time.Duration](t)(w.RDB.PTTL(t.Context(), key).Result()); ttl < time.Until(lock.Deadline()) {
								t.Errorf("%q lives %v, and a lock counts on %v", key, ttl, time.Until(lock.Deadline()))
							}
						}
					}
					for _, state := range check.Must[[]redislock.KeyState](t)(w.Client.Inspect(t.Context(), other.Keys())) {
						if len(state.Holders) != 1 || state.Holders[0].Metadata != "other" {
							t.Errorf("got %v, want one holder with the new metadata", state)
						}
					}
					check.NoError(t, other.Release(t.Context()))
					w.WantFree(t, other.Keys()...)
				})
			})
		}
	}
}

// Without faults no request is counted, whatever is under way at the same time: no guard is left, no line, no
// warning.
func TestNoFaultNoGuard(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ttl, locks = 30 * time.Second, 1000
		log := new(check.Log)
		w := world.New(t, redistest.PipeMini(t))
		w.Client = world.NewClient(t, struct{ *redis.Client }{w.RDB}, redislock.WithLogger(slog.New(log))) // which sends each call by itself
		held := make([]*redislock.Lock, locks)
		for i := range held {
			obtain := w.Client.Obtain
			if i%2 == 1 {
				obtain = w.Client.As(fmt.Sprint("token", i)).Obtain
			}
			keys := w.Keys(fmt.Sprint(i), fmt.Sprint("of ", i))
			held[i] = check.Must[*redislock.Lock](t)(obtain(t.Context(), keys, ttl, &redislock.Options{Watchdog: true}))
		}
		var renewals atomic.Int32
		w.RDB.AddHook(check.Around{After: func(cmd redis.Cmder) {
			if check.RunIn(cmd).Script == "refresh" {
				renewals.Add(1)
				time.Sleep(time.Second)
			}
		}})
		for renewals.Load() < locks {
			time.Sleep(time.Second / 8)
		}
		var all sync.WaitGroup
		for _, lock := range held {
			all.Go(func() {
				if err := lock.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		synctest.Wait()
		if keys := check.Must[[]string](t)(w.RDB.Keys(t.Context(), "*").Result()); len(keys) != 0 {
			t.Errorf("%q are left", keys)
		}
		if warnings := log.At(slog.LevelWarn); len(warnings) != 0 {
			t.Errorf("there are warnings: %q", warnings)
		}
	})
}

// cutObtain has the next Obtain through a Redis client fail without an answer, whether it was executed or not;
// cleared says that what was sent after it has an answer.
func cutObtain(rdb *redis.Client, executed bool) (cleared *atomic.Bool) {
	var obtains atomic.Int32
	cleared = new(atomic.Bool)
	rdb.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		if obtains.Add(1) > 1 {
			err := send(cmds)
			cleared.Store(err == nil)
			return err
		}
		if executed {
			_ = send(cmds)
		}
		return io.EOF
	}})
	return cleared
}

// A clean-up of one Client leaves alone what another one has obtained with the same token, also if that knows the server
// by another name, or has it on another server. Then the key that the clean-up would have freed stays for its lease.
func TestCleanUpSparesOtherClients(t *testing.T) {
	t.Parallel()
	for name, same := range map[string]bool{"one server, two names": true, "two servers, one name": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, other := redistest.Start(t, redistest.Redis), redistest.Shared(t, redistest.Valkey)
			once := func(o *redis.Options) { o.MaxRetries = -1 }
			rdb := server.Client(t, once)
			elsewhere := server.Client(t, func(o *redis.Options) {
				if same {
					o.Addr = strings.Replace(o.Addr, "127.0.0.1", "localhost", 1)
					return
				}
				o.Dialer = func(context.Context, string, string) (net.Conn, error) { return net.Dial("tcp", other.Addr()) }
			})
			key := t.Name() // and the token
			check.NoError(t, rdb.Ping(t.Context()).Err())
			lock := check.Must[*redislock.Lock](t)(world.NewClient(t, elsewhere).As(key).Obtain(t.Context(), []string{key}, world.Long, nil))
			warm := check.Must[*redislock.Lock](t)(world.NewClient(t, rdb).Obtain(t.Context(), []string{key + "warm", key + "too"}, world.Long, nil))
			check.NoError(t, warm.Release(t.Context()))
			cleared := cutObtain(rdb, !same)
			_, err := world.NewClient(t, rdb).As(key).Obtain(t.Context(), []string{key, key + "b"}, world.Long, nil)
			check.Is(t, err, redislock.ErrUnknownOutcome)
			check.Eventually(t, world.Soon, "it is cleared up", func() bool {
				return cleared.Load() && rdb.Exists(t.Context(), key+"b").Val() == 0
			})
			if ttl := rdb.PTTL(t.Context(), key).Val(); ttl < world.Long/2 {
				t.Errorf("the key lives %v", ttl)
			}
			if ttl := check.Must[time.Duration](t)(lock.TTL(t.Context())); ttl < world.Long/2 {
				t.Errorf("the lock lives %v", ttl)
			}
			check.NoError(t, lock.Release(t.Context()))
			if !same { // nothing counts on the key any more
				check.Eventually(t, time.Minute, "the key is free", func() bool { return rdb.Exists(t.Context(), key).Val() == 0 })
			}
		})
	}
}
