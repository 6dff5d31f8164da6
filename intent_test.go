package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func intentOf(key string) string { return "redislock:intent:{" + key + "}" }

// waiter starts an Obtain that waits with an intent, and returns when that is there.
func waiter(ctx context.Context, t *testing.T, w *world, write, read []string) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		lock, err := w.client.ObtainMixed(ctx, write, read, long, &redislock.Options{
			Intent: true, Metadata: "waiter", RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond),
		})
		if err == nil {
			err = lock.Release(context.WithoutCancel(ctx))
		}
		ended <- err
	}()
	eventually(t, 5*time.Second, "the intent is declared", func() bool {
		n, err := w.rdb.Exists(context.WithoutCancel(ctx), intentOf(write[0])).Result()
		return err == nil && n == 1
	})
	return ended
}

func TestIntent(t *testing.T) {
	t.Run("keeps new readers out, and lets the writer have its turn", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			reader := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			ended := waiter(t.Context(), t, w, w.keys("a"), nil)
			w.wantTTL(t, intentOf(w.key("a")), 0, 2*time.Second)
			_, err := w.client.ObtainRead(t.Context(), w.keys("b", "a"), long, nil)
			if conflict := wantConflict(t, err, w.key("a"), redislock.ModeIntent); conflict.Metadata != "waiter" || conflict.TTL <= 0 {
				t.Errorf("got conflict %+v", conflict)
			}
			w.wantFree(t, w.key("b"))
			noError(t, reader.Refresh(t.Context(), long)) // who reads already goes on
			noError(t, reader.Release(t.Context()))
			noError(t, <-ended)
			w.wantFree(t, w.key("a"), intentOf(w.key("a")))
			late := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			noError(t, late.Release(t.Context()))
		})
	})

	t.Run("is withdrawn when the waiting ends", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			reader := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			ctx, cancel := context.WithCancel(t.Context())
			ended := waiter(ctx, t, w, w.keys("a", "c"), w.keys("b"))
			cancel()
			err := <-ended
			wantIs(t, err, context.Canceled)
			wantConflict(t, err, w.key("a"), redislock.ModeRead)
			eventually(t, 900*time.Millisecond, "the intents are gone, before their ttl is over", func() bool {
				return must[int64](t)(w.rdb.Exists(t.Context(), intentOf(w.key("a")), intentOf(w.key("c"))).Result()) == 0
			})
			noError(t, reader.Release(t.Context()))
			w.wantFree(t, w.keys("a", "b", "c")...)
		})
	})

	t.Run("is withdrawn by the last attempt", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			reader := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), long, nil))
			_, err := w.client.Obtain(t.Context(), w.keys("a"), long, &redislock.Options{
				Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2),
			})
			wantConflict(t, err, w.key("a"), redislock.ModeRead)
			w.wantFree(t, intentOf(w.key("a")))
			noError(t, reader.Release(t.Context()))
		})
	})

	t.Run("of a dead writer ends by itself", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
			noError(t, w.rdb.Set(t.Context(), intentOf(w.key("a")), "dead|gone", 3*time.Second).Err())
			began := time.Now()
			must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), w.keys("a"), time.Hour,
				&redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Minute)}))
			if waited := time.Since(began); waited < 3*time.Second || waited > 3100*time.Millisecond {
				t.Errorf("waited %v, want the ttl of the intent", waited)
			}
		})
	})

	t.Run("readers who come and go do not starve a writer", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			current := must[*redislock.Lock](t)(w.client.ObtainRead(ctx, w.keys("a"), long, nil))
			readers := make(chan struct{})
			go func() { // the next one comes before the last one goes, unless it is kept out
				defer close(readers)
				for ctx.Err() == nil {
					next, err := w.client.ObtainRead(ctx, w.keys("a"), long, nil)
					_ = current.Release(context.WithoutCancel(ctx))
					if err != nil {
						next, err = w.client.ObtainRead(ctx, w.keys("a"), long,
							&redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)})
					}
					if err != nil {
						return
					}
					current = next
				}
				_ = current.Release(context.WithoutCancel(ctx))
			}()
			writer := must[*redislock.Lock](t)(w.client.Obtain(ctx, w.keys("a"), long, &redislock.Options{
				Intent: true, RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(5*time.Millisecond), 5000),
			}))
			noError(t, writer.Release(t.Context()))
			cancel()
			<-readers
		})
	})
}
