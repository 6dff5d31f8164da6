package multi_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
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

func TestRelease(t *testing.T) {
	t.Run("on a context that has ended", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), long, nil))
			ctx, cancel := context.WithCancel(bounded(t))
			cancel()
			noError(t, lock.Release(ctx))
			w.wantFree(t, "a", "b", "c")
			wantIs(t, lock.Release(ctx), redislock.ErrLockNotHeld)
		})
	})

	t.Run("of nil", func(t *testing.T) {
		var lock *multi.Lock
		wantIs(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
	})
}

func TestLoss(t *testing.T) {
	watched := &redislock.Options{Watchdog: true}

	t.Run("the watchdog renews every part", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			const ttl = 500 * time.Millisecond
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), ttl, watched))
			held := lock.Context(bounded(t))
			time.Sleep(10 * ttl)
			w.wantHeld(t, "a", "b", "c")
			if err := held.Err(); err != nil || !lock.Deadline().After(time.Now()) {
				t.Errorf("got %v, deadline %v", err, lock.Deadline())
			}
			noError(t, lock.Release(bounded(t)))
			receive(t, held.Done())
			wantNot(t, context.Cause(held), redislock.ErrLockLost)
			synctest.Wait()
			select {
			case <-lock.Lost():
				t.Error("a release counts as a loss")
			default:
			}
		})
	})

	for _, name := range []string{"a", "b", "c"} {
		t.Run("of "+name+" is told, and the others stay until Release", func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				const ttl = 500 * time.Millisecond
				lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), ttl, watched))
				early, lost := lock.Context(bounded(t)), lock.Lost()
				w.steal(t, name)
				wantLost(t, lock, early)
				receive(t, lost)
				time.Sleep(10 * ttl)
				for _, other := range []string{"a", "b", "c"} {
					if other != name {
						w.wantHeld(t, other)
					}
				}
				wantLost(t, lock, lock.Context(bounded(t)))
				wantIs(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
				w.wantFree(t, "a", "b", "c")
				wantLost(t, lock, lock.Context(bounded(t)))
			})
		})
	}

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
	t.Run("holds and renews while the function runs", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			const ttl = 3 * time.Second // a watchdog on a busy machine has to keep it
			errOwn := errors.New("own")
			err := multi.With(bounded(t), w.abc(), ttl, nil, func(ctx context.Context) error {
				time.Sleep(ttl + ttl/10) // real server-side expiry
				w.wantHeld(t, "a", "b", "c")
				if ctx.Err() != nil {
					t.Errorf("the context has ended: %v", context.Cause(ctx))
				}
				return errOwn
			})
			if err != errOwn { //nolint:errorlint // unchanged is what is promised
				t.Errorf("got error %v, want that of the function", err)
			}
			w.wantFree(t, "a", "b", "c")
		})
	})

	t.Run("not obtained, not run", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			other := w.block(t, long, "b")
			defer other.Release(bounded(t))
			err := multi.With(bounded(t), w.abc(), long, nil, func(context.Context) error {
				t.Error("it was run")
				return nil
			})
			wantConflict(t, err, w.key("b"), "part 2 of 3")
		})
	})

	t.Run("lost while it runs", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			errOwn := errors.New("own")
			err := multi.With(bounded(t), w.abc(), 3*time.Second, nil, func(ctx context.Context) error {
				w.steal(t, "b")
				receive(t, ctx.Done())
				return errOwn
			})
			wantIs(t, err, redislock.ErrLockLost, errOwn)
			w.wantFree(t, "a", "b", "c")
		})
	})

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

	t.Run("lost, but not told in time", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			err := multi.With(bounded(t), w.abc(), long, nil, func(context.Context) error {
				w.steal(t, "b")
				return nil
			})
			wantIs(t, err, redislock.ErrLockLost, redislock.ErrLockNotHeld)
			w.wantFree(t, "a", "b", "c")
		})
	})

	t.Run("a panic releases", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			defer func() {
				if recover() == nil {
					t.Error("the panic is gone")
				}
				w.wantFree(t, "a", "b", "c")
			}()
			_ = multi.With(bounded(t), w.abc(), long, nil, func(context.Context) error { panic("own") })
		})
	})
}
