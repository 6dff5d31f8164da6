package outcome_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A Release gives its keys to an Obtain of the same Client that asks every now and then, and that has them at once, whatever other
// Obtains have waited in line or have asked now and then before, and how those have ended.
func TestGivenAtOnceAfterOthers(t *testing.T) {
	t.Parallel()
	polls := redislock.LinearBackoff(2 * time.Second)
	for name, opt := range map[string]*redislock.Options{
		"in line":             {Queue: true},
		"in line for a while": {Queue: true, Wait: time.Second},
		"polled":              {RetryStrategy: polls},
		"polled for a while":  {RetryStrategy: polls, Wait: 3 * time.Second},
	} {
		for _, isHeld := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
					client := world.NewClient(t, mini.Client(t)) // without hooks, so that a Release may go the short way
					obtain := func(name string, opt *redislock.Options) (*redislock.Lock, error) {
						return client.Obtain(t.Context(), w.Keys(name), time.Hour, opt)
					}
					began := time.Now()
					if isHeld {
						held := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("before"), time.Hour, nil))
						time.AfterFunc(7*time.Second, func() { check.NoError(t, held.Release(context.Background())) })
					}
					for range 3 {
						if lock, err := obtain("before", opt); err == nil {
							check.NoError(t, lock.Release(t.Context()))
						}
					}
					if took := time.Since(began); took > time.Minute {
						t.Errorf("they have taken %v", took)
					}
					time.Sleep(time.Minute)
					w.WantFree(t, w.Keys("before")...)
					held := check.Must[*redislock.Lock](t)(obtain("a", nil))
					var took time.Duration
					var all sync.WaitGroup
					all.Go(func() {
						lock, err := obtain("a", &redislock.Options{RetryStrategy: polls})
						check.NoError(t, err)
						took = time.Duration(time.Now().UnixNano())
						check.NoError(t, lock.Release(t.Context()))
					})
					synctest.Wait()
					time.Sleep(time.Second)
					given := time.Duration(time.Now().UnixNano())
					check.NoError(t, held.Release(t.Context()))
					all.Wait()
					if took -= given; took != 0 {
						t.Errorf("the next one had the keys %v after the Release, want at once", took)
					}
				})
			})
		}
	}
}

// A lock that is granted in line is certain from the moment that the message says: its waiter asks nothing more.
func TestGrantedWithoutAsking(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		rdb := mini.Client(t)
		var mu sync.Mutex
		var sent []string
		rdb.AddHook(check.Around{Before: func(cmd redis.Cmder) {
			mu.Lock()
			defer mu.Unlock()
			if run := check.RunIn(cmd); run.Script != "" {
				sent = append(sent, run.Script)
			}
		}})
		other := world.NewClient(t, rdb)
		held := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
		var all sync.WaitGroup
		all.Go(func() {
			check.Must[*redislock.Lock](t)(other.Obtain(t.Context(), w.Keys("a"), time.Hour, world.Queue()))
		})
		time.Sleep(time.Second)
		mu.Lock()
		before := slices.Clone(sent)
		mu.Unlock()
		check.NoError(t, held.Release(t.Context()))
		all.Wait()
		mu.Lock()
		defer mu.Unlock()
		if !slices.Equal(sent, before) || len(sent) == 0 {
			t.Errorf("sent %q before the Release, and %q until it had the lock: want nothing more", before, sent)
		}
	})
}

// An Obtain under the context of a lock that writes its key cannot read that as well, and says so at once.
func TestOwnWayOfAReader(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		held := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Hour, nil))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		for _, key := range []string{"a", "b"} {
			_, err := w.Client.ObtainRead(held.Context(ctx), w.Keys(key), time.Hour, &redislock.Options{RetryStrategy: eachSecond})
			if conflict := world.WantConflict(t, err, w.Key(key), redislock.ModeWrite); !conflict.Own {
				t.Errorf("%s: got conflict %+v, want one with its own lock", key, conflict)
			}
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it has taken %v", took)
		}
	})
}
