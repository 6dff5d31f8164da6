package multi_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/multi"
)

// steal frees a key behind the back of its holder.
func (w *world) steal(t *testing.T, name string) {
	t.Helper()
	noError(t, w.rdb.Del(bounded(t), w.key(name)).Err())
}

// wantLost waits until the loss is known.
func wantLost(t *testing.T, lock *multi.Lock, held context.Context) { //nolint:revive // the context is what is tested
	t.Helper()
	receive(t, lock.Lost())
	receive(t, held.Done())
	wantIs(t, context.Cause(held), redislock.ErrLockLost)
}

func TestRefresh(t *testing.T) {
	t.Run("every part, also if one is lost", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), long, nil))
			first := lock.Deadline()
			noError(t, lock.Refresh(bounded(t), 2*long))
			if d := lock.Deadline(); d.Before(first.Add(long - 10*time.Second)) {
				t.Errorf("got deadline %v after %v", d, first)
			}
			w.steal(t, "b")
			err := lock.Refresh(bounded(t), 3*long)
			wantIs(t, err, redislock.ErrLockNotHeld)
			if text := err.Error(); !strings.Contains(text, "part 2 of 3") || strings.Contains(text, "part 1 of") {
				t.Errorf("got error %q, want it to name part 2", text)
			}
			for _, name := range []string{"a", "c"} {
				if ttl := must[time.Duration](t)(w.rdb.PTTL(bounded(t), w.key(name)).Result()); ttl <= 2*long {
					t.Errorf("got ttl %v of %q, want it refreshed", ttl, name)
				}
			}
			_, err = lock.TTL(bounded(t))
			wantIs(t, err, redislock.ErrLockNotHeld)
			w.wantFree(t, "b")
			err = lock.Release(bounded(t))
			wantIs(t, err, redislock.ErrLockNotHeld)
			if text := err.Error(); !strings.Contains(text, "part 2 of 3") || strings.Contains(text, "part 3 of") {
				t.Errorf("got error %q, want it to name part 2", text)
			}
			w.wantFree(t, "a", "c")
		})
	})

	t.Run("ttl and deadline are the least", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), long, nil))
			noError(t, lock.Refresh(bounded(t), 3*long))
			attached := w.clients[1].Attach([]string{w.key("b")}, lock.Token())
			noError(t, attached.Refresh(bounded(t), long))
			if ttl := must[time.Duration](t)(lock.TTL(bounded(t))); ttl > long {
				t.Errorf("got ttl %v, want that of part 2", ttl)
			}
			noError(t, lock.Release(bounded(t)))
		})
	})
}

func TestLoss(t *testing.T) {
	t.Run("of one part leaves the others until Release", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			const ttl = 500 * time.Millisecond
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), ttl, &redislock.Options{Watchdog: true}))
			w.steal(t, "b")
			wantLost(t, lock, lock.Context(bounded(t)))
			time.Sleep(10 * ttl)
			w.wantHeld(t, "a", "c")
			wantIs(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
			w.wantFree(t, "a", "b", "c")
		})
	})

	t.Run("without a watchdog at the earliest deadline", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), 400*time.Millisecond, nil))
			noError(t, w.clients[1].Attach([]string{w.key("b")}, lock.Token()).Refresh(bounded(t), long))
			held := lock.Context(bounded(t))
			wantLost(t, lock, held)
			if late := time.Since(lock.Deadline()); late > 0 {
				t.Errorf("ended %v after the deadline", late)
			}
			_ = lock.Release(bounded(t))
			w.wantFree(t, "a", "b", "c")
		})
	})
}

func TestWith(t *testing.T) {
	t.Parallel()
	t.Run("lost, although its keys were still there", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			err := multi.With(bounded(t), w.abc(), long, nil, func(ctx context.Context) error {
				w.clients[1].Close()
				receive(t, ctx.Done())
				return nil
			})
			wantIs(t, err, redislock.ErrLockLost)
			if !strings.Contains(err.Error(), "part 2 of 3") {
				t.Errorf("got error %q, want it to name part 2", err)
			}
			w.wantFree(t, "a", "b", "c")
		})
	})
}
