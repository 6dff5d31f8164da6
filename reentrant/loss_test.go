package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestLoss(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		outer := w.obtain(t, w.ctx, ttl, watched, "a", "b")
		inner := w.obtain(t, w.ctx, ttl, watched, "b", "c")
		ended := w.obtain(t, w.ctx, ttl, nil, "a")
		outerCtx, innerCtx := outer.Context(t.Context()), inner.Context(t.Context())
		innerLost, endedLost := inner.Lost(), ended.Lost()
		noError(t, ended.Release(t.Context()))

		w.rdb.Del(t.Context(), w.keys("a")...) // somebody meddles
		time.Sleep(ttl)
		for what, ctx := range map[string]context.Context{"outer": outerCtx, "inner": innerCtx, "later": inner.Context(t.Context())} {
			if got := context.Cause(ctx); !errors.Is(got, redislock.ErrLockLost) {
				t.Errorf("%s: got cause %v, want lost", what, got)
			}
		}
		synctest.Wait()
		if !isClosed(innerLost) || !isClosed(outer.Lost()) || isClosed(endedLost) {
			t.Errorf("got lost %v, %v and %v after the release; want the first two",
				isClosed(innerLost), isClosed(outer.Lost()), isClosed(endedLost))
		}

		w.wantSilent(t, func() {
			for _, names := range [][]string{{"a"}, {"b"}, {"b", "d"}} {
				_, err := reentrant.Obtain(w.ctx, w.client, w.keys(names...), ttl, nil)
				wantIs(t, err, redislock.ErrLockLost)
			}
			noError(t, w.obtain(t, w.ctx, ttl, nil, "c").Release(t.Context())) // c is another root lock
		})
		wantIs(t, inner.Refresh(t.Context(), ttl), redislock.ErrLockLost, redislock.ErrLockNotHeld)
		wantIs(t, outer.Release(t.Context()), redislock.ErrLockLost, redislock.ErrLockNotHeld)
		_, err := reentrant.Obtain(w.ctx, w.client, w.keys("a"), ttl, nil)
		wantIs(t, err, redislock.ErrLockLost)
		wantIs(t, inner.Release(t.Context()), redislock.ErrLockLost, redislock.ErrLockNotHeld)
		w.wantHeld(t)

		anew := w.obtain(t, w.ctx, ttl, watched, "a", "b")
		noError(t, anew.Release(t.Context()))
		if n := w.events.lost.Load(); n != 1 {
			t.Errorf("got %d losses reported, want 1", n)
		}
	})
}

// Without a watchdog the deadline shows the loss.
func TestLossByDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		outer := w.obtain(t, w.ctx, ttl, nil, "a")
		time.Sleep(ttl)
		synctest.Wait()
		w.wantSilent(t, func() {
			_, err := reentrant.Obtain(w.ctx, w.client, w.keys("a"), ttl, nil)
			wantIs(t, err, redislock.ErrLockLost)
		})
		wantIs(t, outer.Release(t.Context()), redislock.ErrLockLost, redislock.ErrLockNotHeld)
		noError(t, w.obtain(t, w.ctx, ttl, nil, "a").Release(t.Context()))
	})
}

// The answer to the extension of the lease is the first to show the loss.
func TestLossByExtension(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		outer := w.obtain(t, w.ctx, long, nil, "a")
		w.rdb.Del(t.Context(), w.keys("a")...)
		_, err := reentrant.Obtain(w.ctx, w.client, w.keys("a", "b"), 2*long, nil)
		wantIs(t, err, redislock.ErrLockLost, redislock.ErrLockNotHeld)
		w.wantHeld(t)
		wantIs(t, outer.Release(t.Context()), redislock.ErrLockLost, redislock.ErrLockNotHeld)
	})
}

// What is held is lost while the rest is waited for.
func TestLossWhileTheRestIsObtained(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		other := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("b"), 2*ttl, nil))
		outer := w.obtain(t, w.ctx, ttl, watched, "a")
		failed := make(chan error)
		go func() {
			_, err := reentrant.Obtain(w.ctx, w.client, w.keys("a", "b"), ttl,
				&redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Second)})
			failed <- err
		}()
		time.Sleep(5 * time.Second)
		w.rdb.Del(t.Context(), w.keys("a")...)
		time.Sleep(ttl)
		noError(t, other.Release(t.Context()))
		wantIs(t, <-failed, redislock.ErrLockLost)
		w.wantHeld(t)
		wantIs(t, outer.Release(t.Context()), redislock.ErrLockLost)
	})
}

func TestRelease(t *testing.T) {
	t.Run("twice", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			outer := w.obtain(t, w.ctx, long, nil, "a")
			inner := w.obtain(t, w.ctx, long, nil, "a")
			noError(t, inner.Release(t.Context()))
			wantIs(t, inner.Release(t.Context()), redislock.ErrLockNotHeld)
			w.wantHeld(t, "a") // the second did not count
			noError(t, outer.Release(t.Context()))
		})
	})

	t.Run("of more than one root lock", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			var holds []*reentrant.Hold
			for _, name := range []string{"a", "b", "c"} {
				holds = append(holds, w.obtain(t, w.ctx, long, nil, name))
			}
			all := w.obtain(t, w.ctx, long, nil, "a", "b", "c")
			for _, hold := range holds {
				noError(t, hold.Release(t.Context()))
			}
			w.wantHeld(t, "a", "b", "c")
			w.rdb.Del(t.Context(), w.keys("b")...)
			wantIs(t, all.Release(t.Context()), redislock.ErrLockNotHeld, redislock.ErrLockLost)
			w.wantHeld(t)
		})
	})

	t.Run("ends the contexts of this hold alone", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			outer := w.obtain(t, w.ctx, long, nil, "a")
			inner := w.obtain(t, w.ctx, long, nil, "a")
			outerCtx, innerCtx := outer.Context(t.Context()), inner.Context(t.Context())
			noError(t, inner.Release(t.Context()))
			for what, ctx := range map[string]context.Context{"before": innerCtx, "after": inner.Context(t.Context())} {
				if got := context.Cause(ctx); got != context.Canceled { //nolint:errorlint // it is this value
					t.Errorf("asked for %s: got cause %v, want canceled", what, got)
				}
			}
			if outerCtx.Err() != nil {
				t.Errorf("the outer context has ended: %v", context.Cause(outerCtx))
			}
			noError(t, outer.Release(t.Context()))
			if isClosed(outer.Lost()) || isClosed(inner.Lost()) {
				t.Error("a release closed Lost")
			}
		})
	})
}

func TestWith(t *testing.T) {
	t.Run("renews, nests and returns the error", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
			failed := errors.New("failed")
			err := reentrant.With(w.ctx, w.client, w.keys("a"), ttl, nil, func(ctx context.Context) error {
				return reentrant.With(ctx, w.client, w.keys("b", "a"), ttl, nil, func(ctx context.Context) error {
					w.wantRenewed(t, ttl, "a", "b")
					return errors.Join(failed, ctx.Err())
				})
			})
			wantIs(t, err, failed)
			w.wantHeld(t)
		})
	})
}
