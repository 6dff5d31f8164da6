package api_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// between is how long a waiter waits between two attempts: its intent lasts longer by a second, also if the machine stands still
// for a while.
const between = 3 * time.Second

// waiter starts an Obtain that waits with an intent, and returns when that is there.
func waiter(ctx context.Context, t *testing.T, w *world.World, write, read []string) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		lock, err := w.Client.ObtainSet(ctx, redislock.Set{Write: write, Read: read}, world.Long, &redislock.Options{
			Intent: true, Metadata: "waiter", RetryStrategy: redislock.LinearBackoff(between),
		})
		if err == nil {
			err = lock.Release(context.WithoutCancel(ctx))
		}
		ended <- err
	}()
	check.Eventually(t, 5*time.Second, "the intent is declared", func() bool {
		n, err := w.RDB.Exists(context.WithoutCancel(ctx), world.IntentOf(write[0])).Result()
		return err == nil && n == 1
	})
	return ended
}

func TestIntent(t *testing.T) {
	t.Run("keeps new readers out, and lets the writer have its turn", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			reader := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil))
			ended := waiter(t.Context(), t, w, w.Keys("a"), nil)
			w.WantTTL(t, world.IntentOf(w.Key("a")), 0, between+time.Second)
			_, err := w.Client.ObtainRead(t.Context(), w.Keys("b", "a"), world.Long, nil)
			if conflict := world.WantConflict(t, err, w.Key("a"), redislock.ModeIntent); conflict.Metadata != "waiter" || conflict.TTL <= 0 {
				t.Errorf("got conflict %+v", conflict)
			}
			w.WantFree(t, w.Key("b"))
			check.NoError(t, reader.Refresh(t.Context(), world.Long)) // who reads already goes on
			check.NoError(t, reader.Release(t.Context()))
			check.NoError(t, <-ended)
			w.WantFree(t, w.Key("a"), world.IntentOf(w.Key("a")))
			late := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil))
			check.NoError(t, late.Release(t.Context()))
		})
	})

	t.Run("is withdrawn when the waiting ends", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			reader := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil))
			ctx, cancel := context.WithCancel(t.Context())
			ended := waiter(ctx, t, w, w.Keys("a", "c"), w.Keys("b"))
			cancel()
			err := <-ended
			check.Is(t, err, context.Canceled)
			world.WantConflict(t, err, w.Key("a"), redislock.ModeRead)
			check.Eventually(t, between, "the intents are gone, before their ttl is over", func() bool {
				return check.Must[int64](t)(w.RDB.Exists(t.Context(), world.IntentOf(w.Key("a")), world.IntentOf(w.Key("c"))).Result()) == 0
			})
			check.NoError(t, reader.Release(t.Context()))
			w.WantFree(t, w.Keys("a", "b", "c")...)
		})
	})

	t.Run("is withdrawn by the last attempt", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			reader := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), world.Long, nil))
			_, err := w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, &redislock.Options{
				Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2),
			})
			world.WantConflict(t, err, w.Key("a"), redislock.ModeRead)
			w.WantFree(t, world.IntentOf(w.Key("a")))
			check.NoError(t, reader.Release(t.Context()))
		})
	})

	t.Run("of a dead writer ends by itself", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			check.NoError(t, w.RDB.Set(t.Context(), world.IntentOf(w.Key("a")), "dead|gone", 3*time.Second).Err())
			began := time.Now()
			check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), time.Hour,
				&redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Minute)}))
			if waited := time.Since(began); waited < 3*time.Second || waited > 3100*time.Millisecond {
				t.Errorf("waited %v, want the ttl of the intent", waited)
			}
		})
	})

	t.Run("readers who come and go do not starve a writer", func(t *testing.T) {
		world.Scenario(t, func(t *testing.T, w *world.World) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			current := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(ctx, w.Keys("a"), world.Long, nil))
			readers := make(chan struct{})
			go func() { // the next one comes before the last one goes, unless it is kept out
				defer close(readers)
				for ctx.Err() == nil {
					next, err := w.Client.ObtainRead(ctx, w.Keys("a"), world.Long, nil)
					_ = current.Release(context.WithoutCancel(ctx))
					if err != nil {
						next, err = w.Client.ObtainRead(ctx, w.Keys("a"), world.Long,
							&redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)})
					}
					if err != nil {
						return
					}
					current = next
				}
				_ = current.Release(context.WithoutCancel(ctx))
			}()
			writer := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a"), world.Long, &redislock.Options{
				Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(5*time.Millisecond), 5000),
			}))
			check.NoError(t, writer.Release(t.Context()))
			cancel()
			<-readers
		})
	})
}

// What an Obtain has declared is withdrawn when it ends without its lock, long before it would end by itself: with the keys
// that it may have locked, and without those that its token holds in another process.
func TestIntentIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ fenced, unanswered, elsewhere bool }{
		"refused": {}, "fenced": {fenced: true}, "not answered": {unanswered: true}, "of a token that holds a key elsewhere": {elsewhere: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				rdb := mini.Client(t)
				client := redislock.New(rdb)
				defer client.Close()
				obtain := client.Obtain
				if test.elsewhere {
					check.NoError(t, rdb.Set(t.Context(), w.Key("a"), t.Name(), 10*time.Hour).Err())
					obtain = client.As(t.Name()).Obtain
				}
				if test.unanswered {
					rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
						if check.RunIn(cmd).Of("obtain") && cmd.Err() == nil { // is executed
							cmd.SetErr(io.EOF)
						}
					}})
				}
				check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("b"), 10*time.Hour, nil))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					_, err := obtain(ctx, w.Keys("a", "b"), time.Hour, &redislock.Options{
						Intent: true, Fenced: test.fenced, RetryStrategy: redislock.LinearBackoff(5 * time.Hour),
					})
					ended <- err
				}()
				time.Sleep(time.Minute)
				intents := []string{world.IntentOf(w.Key("a")), world.IntentOf(w.Key("b"))}
				if n := w.RDB.Exists(t.Context(), intents...).Val(); n == 0 {
					t.Error("no intent is declared")
				}
				cancel()
				check.Is(t, <-ended, context.Canceled)
				time.Sleep(time.Minute)
				if n := w.RDB.Exists(t.Context(), intents...).Val(); n != 0 {
					t.Errorf("%d intents are left", n)
				}
				if held := w.RDB.Exists(t.Context(), w.Key("a")).Val() == 1; held != test.elsewhere {
					t.Errorf("the other key is held: %t", held)
				}
			})
		})
	}
}

// An Obtain that was refused for the last time has nothing to clear up, whether it has declared intents or not.
func TestRefusedForTheLastTime(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), w.Keys("a"), 10*time.Hour, nil))
		w.RDB.AddHook(check.Around{Before: func(cmd redis.Cmder) {
			if check.RunIn(cmd).Of("release") {
				t.Errorf("%q was sent", cmd.Args())
			}
		}})
		again := redislock.LimitRetry(redislock.LinearBackoff(time.Second), 1)
		for _, opt := range []*redislock.Options{nil, {Intent: true}, {RetryStrategy: again}, {RetryStrategy: again, Intent: true}} {
			_, err := w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, opt)
			world.WantConflict(t, err, w.Key("a"), redislock.ModeRead)
		}
		time.Sleep(time.Minute)
		if n := w.RDB.Exists(t.Context(), world.IntentOf(w.Key("a"))).Val(); n != 0 {
			t.Error("an intent is left")
		}
	})
}
