package reentrant_test

import (
	"context"
	"slices"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

// The innermost hold is found also if it holds nothing that others do not hold, with the number of the outer one.
func TestFromContext(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini) {
		opt := &redislock.Options{Fenced: true}
		noError(t, reentrant.With(w.ctx, w.client, w.keys("a", "b"), long, opt, func(outer context.Context) error {
			hold := reentrant.FromContext(outer)
			return reentrant.With(outer, w.client, w.keys("b"), long, nil, func(inner context.Context) error {
				nested := reentrant.FromContext(inner)
				if nested == hold || !slices.Equal(nested.Keys(), w.keys("b")) || nested.Fence() == 0 || nested.Fence() != hold.Fence() {
					t.Errorf("got keys %q and number %d, want those of the innermost hold", nested.Keys(), nested.Fence())
				}
				return inner.Err()
			})
		}))
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
