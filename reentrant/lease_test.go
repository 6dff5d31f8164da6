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

const ttl = 30 * time.Second

// wantRenewed checks for an hour that the lease never sinks below half of a ttl.
func (w *world) wantRenewed(t *testing.T, ttl time.Duration, names ...string) {
	t.Helper()
	for range 720 {
		time.Sleep(5 * time.Second)
		for _, key := range w.keys(names...) {
			if left := must[time.Duration](t)(w.rdb.PTTL(context.Background(), key).Result()); left < ttl/2 || left > ttl {
				t.Fatalf("got %v left of %q, want more than half of %v", left, key, ttl)
			}
		}
	}
}

// Lesson: write, nested read, release of the read: the write lock is no longer renewed.
func TestNestedReleaseDoesNotStopRenewal(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		writer := w.obtain(t, w.ctx, ttl, watched, "a", "b")
		ctx := writer.Context(t.Context())
		reader := must[*reentrant.Hold](t)(reentrant.ObtainRead(w.ctx, w.client, w.keys("a"), ttl, watched))
		noError(t, reader.Release(t.Context()))
		w.wantRenewed(t, ttl, "a", "b")
		if ctx.Err() != nil {
			t.Errorf("context has ended: %v", context.Cause(ctx))
		}
		noError(t, writer.Release(t.Context()))
		w.wantHeld(t)
		before := w.events.refreshed.Load()
		time.Sleep(time.Hour)
		if n := w.events.refreshed.Load() - before; n != 0 {
			t.Errorf("got %d renewals after the last release", n)
		}
	})
}

func TestRenewalLastsAsLongAsAnyHold(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		outer := w.obtain(t, w.ctx, ttl, watched, "a")
		inner := w.obtain(t, w.ctx, ttl, nil, "a")
		noError(t, outer.Release(t.Context()))
		w.wantRenewed(t, ttl, "a")
		noError(t, inner.Release(t.Context()))
	})
}

func TestWatchdogUnderOneWithout(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		outer := w.obtain(t, w.ctx, ttl, nil, "a")
		time.Sleep(5 * time.Second)
		inner := w.obtain(t, w.ctx, ttl, watched, "a", "b")
		w.wantRenewed(t, ttl, "a", "b")
		noError(t, inner.Release(t.Context()))
		w.wantRenewed(t, ttl, "a") // until the last hold has ended
		longer := w.obtain(t, w.ctx, 10*ttl, nil, "a")
		w.wantRenewed(t, 10*ttl, "a")
		noError(t, longer.Release(t.Context()))
		noError(t, outer.Release(t.Context()))
		before := w.events.refreshed.Load()
		time.Sleep(time.Hour)
		if n := w.events.refreshed.Load() - before; n != 0 {
			t.Errorf("got %d renewals after the last release", n)
		}
	})
}

func TestWatchdogUnderOneWithoutTellsLoss(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, mini *redistest.Mini) {
		outer := w.obtain(t, w.ctx, ttl, nil, "a")
		inner := w.obtain(t, w.ctx, ttl, watched, "a")
		ctx := outer.Context(t.Context())
		time.Sleep(5 * time.Minute)
		mini.Miniredis().SetError("LOADING not yet")
		time.Sleep(ttl / 2)
		if ctx.Err() != nil {
			t.Fatalf("lost before the lease was over: %v", context.Cause(ctx))
		}
		mini.Miniredis().SetError("")
		time.Sleep(5 * time.Minute) // it has gone on
		if ctx.Err() != nil {
			t.Fatalf("lost after a failure that has passed: %v", context.Cause(ctx))
		}
		mini.Miniredis().SetError("LOADING not yet")
		deadline := outer.Deadline()
		<-ctx.Done()
		if late := time.Since(deadline); late > ttl || context.Cause(ctx) != redislock.ErrLockLost { //nolint:errorlint // it is this value
			t.Errorf("got cause %v, %v after the deadline of the last renewal but some", context.Cause(ctx), late)
		}
		wantIs(t, inner.Release(t.Context()), redislock.ErrLockNotHeld, redislock.ErrLockLost)
		wantIs(t, outer.Release(t.Context()), redislock.ErrLockNotHeld, redislock.ErrLockLost) // also if Redis fails
		mini.Miniredis().SetError("")
	})
}

func TestNestedTTL(t *testing.T) {
	left := func(h *reentrant.Hold) time.Duration { return time.Until(h.Deadline()).Round(time.Second) }

	t.Run("without a watchdog", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
			holds := []*reentrant.Hold{w.obtain(t, w.ctx, ttl, nil, "a")}
			nested := func(ttl time.Duration) {
				holds = append(holds, w.obtain(t, w.ctx, ttl, nil, "a"))
			}
			w.wantSilent(t, func() { nested(ttl) })
			w.wantSilent(t, func() { nested(ttl / 2) })
			nested(2 * ttl)
			for _, hold := range holds {
				if got := left(hold); got < 2*ttl-time.Second {
					t.Errorf("got %v left after a nested hold of %v", got, 2*ttl)
				}
			}
			time.Sleep(ttl)
			w.wantSilent(t, func() { nested(ttl) })
			nested(ttl + ttl/2) // more than two thirds of which are not left
			if got := left(holds[0]); got < ttl+ttl/3 {
				t.Errorf("got %v left, want the lease extended", got)
			}
			for _, hold := range holds {
				noError(t, hold.Release(t.Context()))
			}
		})
	})

	t.Run("with a watchdog", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
			outer := w.obtain(t, w.ctx, ttl, watched, "a")
			time.Sleep(9 * time.Second)
			w.wantSilent(t, func() { noError(t, w.obtain(t, w.ctx, ttl, nil, "a").Release(t.Context())) })
			inner := w.obtain(t, w.ctx, 2*ttl, nil, "a")
			noError(t, inner.Release(t.Context()))
			w.wantRenewed(t, 2*ttl, "a")
			noError(t, outer.Release(t.Context()))
		})
	})
}

func TestRefreshNeverShortens(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		outer := w.obtain(t, w.ctx, ttl, nil, "a")
		inner := w.obtain(t, w.ctx, ttl, nil, "a", "b")
		deadline := outer.Deadline()
		w.wantSilent(t, func() { noError(t, inner.Refresh(t.Context(), ttl/2)) })
		if got := outer.Deadline(); !got.Equal(deadline) {
			t.Errorf("got deadline %v, want %v as before", got, deadline)
		}
		noError(t, inner.Refresh(t.Context(), 2*ttl))
		for _, hold := range []*reentrant.Hold{outer, inner} {
			if left := time.Until(hold.Deadline()); left < ttl+ttl/2 {
				t.Errorf("got %v left, want about %v", left, 2*ttl)
			}
		}
		wantIs(t, inner.Refresh(t.Context(), 0), &redislock.InvalidError{Argument: "ttl"})
		noError(t, inner.Release(t.Context()))
		wantIs(t, inner.Refresh(t.Context(), ttl), redislock.ErrLockNotHeld)
		if err := inner.Refresh(t.Context(), ttl); errors.Is(err, redislock.ErrLockLost) {
			t.Errorf("got a loss, %v, of a hold that was released", err)
		}
		noError(t, outer.Release(t.Context()))
	})
}

func TestDeadlineIsTheEarliest(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		first := w.obtain(t, w.ctx, ttl, nil, "a")
		time.Sleep(2 * time.Second)
		second := w.obtain(t, w.ctx, 3*ttl, nil, "b")
		for _, names := range [][]string{{"a", "b"}, {"b", "a"}} {
			both := w.obtain(t, w.ctx, time.Second, nil, names...)
			if !both.Deadline().Equal(first.Deadline()) {
				t.Errorf("got deadline %v of %v, want %v", both.Deadline(), names, first.Deadline())
			}
			noError(t, both.Release(t.Context()))
		}
		noError(t, first.Release(t.Context()))
		noError(t, second.Release(t.Context()))
	})
}

// A lease so short that two thirds of it are never left is renewed all the same, and not in a spin.
func TestVeryShortLease(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		const short = 4 * time.Millisecond
		outer := w.obtain(t, w.ctx, short, nil, "a")
		inner := w.obtain(t, w.ctx, short, watched, "a")
		before := w.events.refreshed.Load()
		time.Sleep(time.Second)
		synctest.Wait()
		if n := w.events.refreshed.Load() - before; n > 5000 {
			t.Errorf("got %d renewals in a second", n)
		}
		noError(t, inner.Release(t.Context()))
		noError(t, outer.Release(t.Context()))
	})
}
