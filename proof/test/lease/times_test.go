package lease_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// An intent outlives by a second the wait of the writer that declares it.
func TestIntentLife(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		const wait, grace = 10 * time.Second, time.Second
		holder := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil))
		ended := make(chan error)
		go func() {
			lock, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long,
				&redislock.Options{Intent: true, RetryStrategy: redislock.LinearBackoff(wait)})
			if err == nil {
				err = lock.Release(t.Context())
			}
			ended <- err
		}()
		time.Sleep(wait / 2)
		left := check.Must[time.Duration](t)(w.RDB.PTTL(t.Context(), world.IntentOf(w.Key("a"))).Result())
		if want := wait/2 + grace; left < want-grace/4 || left > want+grace/4 {
			t.Errorf("half way the intent lives for %v, want %v", left, want)
		}
		check.NoError(t, holder.Release(t.Context()))
		check.NoError(t, <-ended)
	})
}

// The time of HoldAtLeast counts from when the caller is given the lock, however long the answer took.
func TestHoldAtLeastFromTheAnswer(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		const least, slow = 20 * time.Second, 3 * time.Second
		w.RDB.AddHook(check.Around{After: func(cmd redis.Cmder) {
			if check.RunIn(cmd).Of("obtain") {
				time.Sleep(slow)
			}
		}})
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{HoldAtLeast: least}))
		time.Sleep(time.Second)
		check.NoError(t, lock.Release(t.Context()))
		w.WantTTL(t, w.Key("a"), least-time.Second-10*time.Millisecond, least-time.Second)
	})
}

// Keys that somebody has made persistent are held for as long as a lease may be.
func TestTTLOfPersistentKeys(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Minute, nil))
		check.NoError(t, w.RDB.Persist(t.Context(), w.Key("a")).Err())
		if ttl, err := lock.TTL(t.Context()); err != nil || ttl != 365*24*time.Hour {
			t.Errorf("got %s and error %v", ttl, err)
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}
