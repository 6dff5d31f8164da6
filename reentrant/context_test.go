package reentrant_test

import (
	"context"
	"slices"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

// Each function finds the hold under which it runs, also if it holds nothing that others do not hold.
func TestFromContext(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		if hold := reentrant.FromContext(w.ctx); hold != nil {
			t.Errorf("got a hold of the keys %q outside of any", hold.Keys())
		}
		opt := &redislock.Options{Fenced: true}
		noError(t, reentrant.With(w.ctx, w.client, w.keys("a", "b"), long, opt, func(outer context.Context) error {
			hold := reentrant.FromContext(outer)
			if !slices.Equal(hold.Keys(), w.keys("a", "b")) || hold.Fence() == 0 {
				t.Errorf("got keys %q and number %d", hold.Keys(), hold.Fence())
			}
			if reentrant.FromContext(hold.Context(context.Background())) != hold {
				t.Error("the hold is not found in its own context")
			}
			return reentrant.With(outer, w.client, w.keys("b"), long, nil, func(inner context.Context) error {
				nested := reentrant.FromContext(inner)
				if !slices.Equal(nested.Keys(), w.keys("b")) || nested.Fence() != hold.Fence() {
					t.Errorf("got keys %q and number %d, want those of the innermost hold", nested.Keys(), nested.Fence())
				}
				if reentrant.FromContext(outer) != hold {
					t.Error("the hold further out is not found any more")
				}
				return inner.Err()
			})
		}))
	})
}

// Nobody finds a root lock. A lock of the root package that is held further out is found through the hold.
func TestRootLocksAreNotFound(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		nothing := func(ctx context.Context) error {
			if lock := redislock.FromContext(ctx); lock != nil {
				t.Errorf("got the lock of %q", lock.Keys())
			}
			return nil
		}
		noError(t, reentrant.With(w.ctx, w.client, w.keys("a"), long, nil, nothing))

		lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("c"), long, nil))
		noError(t, reentrant.With(lock.Context(w.ctx), w.client, w.keys("a"), long, nil, func(ctx context.Context) error {
			if got := redislock.FromContext(ctx); got != lock {
				t.Errorf("got the lock of %q, want the one further out", got.Keys())
			}
			return nil
		}))
		noError(t, lock.Release(t.Context()))
	})
}

// The function of a With may release its hold. That is no loss, also if there are others.
func TestFunctionReleases(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		noError(t, reentrant.With(w.ctx, w.client, w.keys("a"), long, nil, func(outer context.Context) error {
			noError(t, reentrant.With(outer, w.client, w.keys("a"), long, nil, func(inner context.Context) error {
				return reentrant.FromContext(inner).Release(inner)
			}))
			return reentrant.FromContext(outer).Release(outer)
		}))
	})
}
