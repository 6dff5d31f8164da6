package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// wantLock says which lock a context has.
func wantLock(t *testing.T, when string, ctx context.Context, want *redislock.Lock) { //nolint:revive // the context is what is tested
	t.Helper()
	if got := redislock.FromContext(ctx); got != want {
		t.Errorf("%s: got the lock of %q, want that of %q", when, got.Keys(), want.Keys())
	}
}

// The function of a With finds its lock, and what is the lock's alone: keys, deadline and number.
func TestFromContextOfWith(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		var former *redislock.Lock
		var numbers []int64
		for range 2 {
			check.NoError(t, w.Client.With(t.Context(), w.Keys("a", "b"), world.Long, world.Fenced(""), func(ctx context.Context) error {
				lock := redislock.FromContext(ctx)
				if lock == nil || lock == former {
					t.Fatalf("got %p, want a lock of this With", lock)
				}
				if got := lock.Keys(); len(got) != 2 || got[0] != w.Key("a") || got[1] != w.Key("b") {
					t.Errorf("got keys %q, want %q", got, w.Keys("a", "b"))
				}
				if left := time.Until(lock.Deadline()); left < world.Long/2 || left > world.Long {
					t.Errorf("got a deadline in %v, want one within %v", left, world.Long)
				}
				former, numbers = lock, append(numbers, lock.Fence())
				wantLock(t, "a context that the function has made", context.WithoutCancel(ctx), lock)
				return lock.Refresh(ctx, 2*world.Long)
			}))
		}
		if numbers[0] < 1 || numbers[1] <= numbers[0] {
			t.Errorf("got numbers %d, want greater and greater", numbers)
		}
		wantLock(t, "around the With", t.Context(), nil)
	})
}

// The innermost lock counts, whether With or Lock.Context has put it there, and the outer one again when that is over.
func TestFromContextNested(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		check.NoError(t, w.Client.With(t.Context(), w.Keys("a"), world.Long, nil, func(outer context.Context) error {
			first := redislock.FromContext(outer)
			second := check.Must[*redislock.Lock](t)(w.Client.Obtain(outer, w.Keys("b"), world.Long, nil))
			wantLock(t, "an Obtain alone", outer, first)
			middle := second.Context(outer)
			wantLock(t, "Lock.Context", middle, second)
			check.NoError(t, w.Client.With(middle, w.Keys("c"), world.Long, nil, func(inner context.Context) error {
				if keys := redislock.FromContext(inner).Keys(); len(keys) != 1 || keys[0] != w.Key("c") {
					t.Errorf("got keys %q in the With inside, want %q", keys, w.Key("c"))
				}
				wantLock(t, "Lock.Context of the outer lock inside", first.Context(inner), first)
				return nil
			}))
			wantLock(t, "Lock.Context after the With inside", middle, second)
			wantLock(t, "the With outside", outer, first)
			var nobody *redislock.Lock
			wantLock(t, "the context of no lock", nobody.Context(middle), nobody)
			if got := redislock.HeldFromContext(nobody.Context(middle)); got != nil {
				t.Errorf("got %T of the context of no lock", got)
			}
			return second.Release(outer)
		}))
	})
}

// A lock is found under its contexts when it has ended, too: those from before and those made since.
func TestFromContextAfterTheEnd(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		released := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
		lost := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("b"), world.Long, nil))
		early := map[*redislock.Lock]context.Context{released: released.Context(t.Context()), lost: lost.Context(t.Context())}
		check.NoError(t, released.Release(t.Context()))
		mini.Miniredis().FlushAll()
		check.Is(t, lost.Refresh(t.Context(), world.Long), redislock.ErrLockNotHeld)
		for lock, ctx := range early {
			if late := lock.Context(t.Context()); !world.IsDone(ctx) || !world.IsDone(late) {
				t.Errorf("a context of %q has not ended", lock.Keys())
			} else {
				wantLock(t, "a context from before", ctx, lock)
				wantLock(t, "a context from after", late, lock)
			}
		}
		check.Is(t, context.Cause(early[lost]), redislock.ErrLockLost)
		var used *redislock.Lock
		err := w.Client.With(t.Context(), w.Keys("c"), world.Long, nil, func(ctx context.Context) error {
			used = redislock.FromContext(ctx)
			return nil
		})
		check.NoError(t, err)
		check.Is(t, used.Refresh(t.Context(), world.Long), redislock.ErrLockNotHeld) // With has released it
	})
}
