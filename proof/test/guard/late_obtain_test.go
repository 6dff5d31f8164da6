package guard_test

import (
	"context"
	"net"
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

// lateObtain runs fn in a bubble with a lock whose Obtain has left a late request: it asks for 20 s, and is
// written when fn calls arrives.
func lateObtain(t *testing.T, fn func(t *testing.T, w *world.World, mini *redistest.Mini, lock *redislock.Lock, arrives func()), read bool) {
	t.Helper()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		var next atomic.Bool
		late := make(chan struct{})
		rdb := mini.Client(t, func(opt *redis.Options) {
			opt.ReadTimeout, opt.WriteTimeout = 5*time.Second, -1
			dial := opt.Dialer
			opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dial(ctx, network, addr)
				return keptConn{conn, &next, late}, err
			}
		})
		client := redislock.New(rdb)
		defer client.Close()
		warm := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("warm"), time.Hour, nil))
		check.NoError(t, warm.Release(t.Context()))
		next.Store(true)
		obtain := client.Obtain
		if read {
			obtain = client.ObtainRead
		}
		opt := &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Second)}
		lock := check.Must[*redislock.Lock](t)(obtain(t.Context(), w.Keys("a"), 20*time.Second, opt))
		arrives := sync.OnceFunc(func() {
			close(late)
			synctest.Wait()
		})
		defer arrives()
		fn(t, w, mini, lock, arrives)
	})
}

// A request that an Obtain has left behind may be executed as long as the Redis client holds it. It changes
// nothing of the lock that a later request has obtained, and no method waits for it.
func TestBoundLateRequestOfLock(t *testing.T) {
	t.Parallel()
	const soon, late = 15 * time.Second, 4 * time.Minute
	t.Run("released", func(t *testing.T) {
		lateObtain(t, func(t *testing.T, w *world.World, _ *redistest.Mini, lock *redislock.Lock, arrives func()) {
			check.NoError(t, lock.Release(t.Context()))
			time.Sleep(late)
			arrives()
			check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
		}, false)
	})
	t.Run("refreshed", func(t *testing.T) {
		lateObtain(t, func(t *testing.T, w *world.World, mini *redistest.Mini, lock *redislock.Lock, arrives func()) {
			time.Sleep(soon)
			check.NoError(t, lock.Refresh(t.Context(), time.Hour))
			if left := time.Until(lock.Deadline()); left < 59*time.Minute {
				t.Errorf("it counts on %v, want the hour that was confirmed", left)
			}
			time.Sleep(late - soon)
			arrives()
			lease, left := mini.Miniredis().TTL(w.Keys("a")[0]), time.Until(lock.Deadline())
			if left > lease {
				t.Errorf("it counts on %v, and the key has %v", left, lease)
			}
		}, false)
	})
	t.Run("upgraded", func(t *testing.T) {
		lateObtain(t, func(t *testing.T, w *world.World, _ *redistest.Mini, lock *redislock.Lock, arrives func()) {
			began := time.Now()
			check.NoError(t, lock.Upgrade(t.Context()))
			if waited := time.Since(began); waited > 0 {
				t.Errorf("the Upgrade took %v", waited)
			}
			check.NoError(t, lock.Refresh(t.Context(), time.Hour))
			arrives()
			_, err := w.Client.ObtainRead(t.Context(), w.Keys("a"), time.Hour, nil)
			world.WantConflict(t, err, w.Key("a"), redislock.ModeWrite)
		}, true)
	})
}
