package redislock_test

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
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// strayed runs fn in a bubble with a lock whose Obtain has left a request for 20 s that is still to be
// written, and with what lets that go on.
func strayed(t *testing.T, fn func(t *testing.T, w *world, mini *redistest.Mini, lock *redislock.Lock, arrives func()), read bool) {
	t.Helper()
	bubble(t, func(t *testing.T, w *world, mini *redistest.Mini, _ *journal) {
		var next atomic.Bool
		late := make(chan struct{})
		rdb := mini.Client(t, func(opt *redis.Options) {
			opt.ReadTimeout, opt.WriteTimeout = 5*time.Second, -1
			dial := opt.Dialer
			opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := dial(ctx, network, addr)
				return ferry{conn, &next, late}, err
			}
		})
		client := redislock.New(rdb)
		defer client.Close()
		warm := must[*redislock.Lock](t)(client.Obtain(t.Context(), w.keys("warm"), time.Hour, nil))
		noError(t, warm.Release(t.Context()))
		next.Store(true)
		obtain := client.Obtain
		if read {
			obtain = client.ObtainRead
		}
		opt := &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Second)}
		lock := must[*redislock.Lock](t)(obtain(t.Context(), w.keys("a"), 20*time.Second, opt))
		arrives := sync.OnceFunc(func() {
			close(late)
			synctest.Wait()
		})
		defer arrives()
		fn(t, w, mini, lock, arrives)
	})
}

// A request that an Obtain has left behind may be executed as long as the Redis client holds it. It changes
// nothing of the lock that came of a later one, and nobody reckons with it.
func TestBoundLateRequestOfLock(t *testing.T) {
	t.Parallel()
	const soon, late = 15 * time.Second, 4 * time.Minute
	t.Run("released", func(t *testing.T) {
		strayed(t, func(t *testing.T, w *world, _ *redistest.Mini, lock *redislock.Lock, arrives func()) {
			noError(t, lock.Release(t.Context()))
			time.Sleep(late)
			arrives()
			must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a"), time.Hour, nil))
		}, false)
	})
	t.Run("refreshed", func(t *testing.T) {
		strayed(t, func(t *testing.T, w *world, mini *redistest.Mini, lock *redislock.Lock, arrives func()) {
			time.Sleep(soon)
			noError(t, lock.Refresh(t.Context(), time.Hour))
			if left := time.Until(lock.Deadline()); left < 59*time.Minute {
				t.Errorf("it counts on %v, want the hour that was confirmed", left)
			}
			time.Sleep(late - soon)
			arrives()
			lease, left := mini.Miniredis().TTL(w.keys("a")[0]), time.Until(lock.Deadline())
			if left > lease {
				t.Errorf("it counts on %v, and the key has %v", left, lease)
			}
		}, false)
	})
	t.Run("upgraded", func(t *testing.T) {
		strayed(t, func(t *testing.T, w *world, _ *redistest.Mini, lock *redislock.Lock, arrives func()) {
			began := time.Now()
			noError(t, lock.Upgrade(t.Context()))
			if waited := time.Since(began); waited > 0 {
				t.Errorf("the Upgrade took %v", waited)
			}
			noError(t, lock.Refresh(t.Context(), time.Hour))
			arrives()
			_, err := w.client.ObtainRead(t.Context(), w.keys("a"), time.Hour, nil)
			wantConflict(t, err, w.key("a"), redislock.ModeWrite)
		}, true)
	})
}
