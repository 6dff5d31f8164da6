package contract

import (
	"context"
	"slices"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/check"
)

// contexts checks which lock a function finds, and when its context ends.
func contexts(t *testing.T, m Maker) {
	t.Helper()
	find := func(t *testing.T, when string, ctx context.Context, want held.Lock) {
		t.Helper()
		if got := m.find(ctx); got != want {
			t.Errorf("%s: the package finds %v, want %v", when, got, want)
		}
		if got := held.FromContext(ctx); got != want {
			t.Errorf("%s: held.FromContext finds %v, want %v", when, got, want)
		}
	}
	m.in(t, "the innermost lock is found", func(t *testing.T, r *rig) {
		ctx := context.WithValue(t.Context(), word{}, "said")
		find(t, "outside", ctx, nil)
		check.NoError(t, r.Locks.WithSet(ctx, redislock.Set{Write: []string{"a"}}, long, nil, func(outer context.Context) error {
			first := r.found(t, outer)
			if got := first.Keys(); !slices.Equal(got, []string{"a"}) {
				t.Errorf("got the lock of %q", got)
			}
			second := check.Must[held.Lock](t)(r.Locks.ObtainSet(outer, redislock.Set{Write: []string{"b"}}, long, nil))
			find(t, "an Obtain alone", outer, first)
			middle := second.Context(outer)
			find(t, "the context of a lock", middle, second)
			check.NoError(t, r.Locks.WithSet(middle, redislock.Set{Write: []string{"c"}}, long, nil, func(inner context.Context) error {
				third := r.found(t, inner)
				if got := third.Keys(); !slices.Equal(got, []string{"c"}) || inner.Value(word{}) != "said" {
					t.Errorf("got the lock of %q, and the word %v", got, inner.Value(word{}))
				}
				find(t, "the With inside", context.WithoutCancel(inner), third)
				find(t, "the context of the outer lock inside", first.Context(inner), first)
				return nil
			}))
			find(t, "the context of a lock, after the With inside", middle, second)
			for name, nobody := range m.nobody {
				if m.find(nobody.Context(middle)) == second || held.FromContext(nobody.Context(middle)) != nil {
					t.Errorf("a lock is found in the context of one that is %s", name)
				}
			}
			check.NoError(t, second.Release(outer))
			find(t, "a lock that was released", middle, second)
			find(t, "a lock that was released before", second.Context(outer), second)
			find(t, "the With outside", outer, first)
			return nil
		}))
	})
	m.in(t, "a lock of the root package that is held further out is found", func(t *testing.T, r *rig) {
		outer := check.Must[*redislock.Lock](t)(r.others[0].Obtain(t.Context(), []string{"outer"}, long, nil))
		if got := redislock.FromContext(t.Context()); got != nil {
			t.Errorf("got %v outside", got)
		}
		check.NoError(t, r.Locks.WithSet(outer.Context(t.Context()), r.set(), long, nil, func(ctx context.Context) error {
			_, isRoot := r.found(t, ctx).(*redislock.Lock)
			if got := redislock.FromContext(ctx); isRoot == (got == outer) {
				t.Errorf("got %v", got)
			}
			return nil
		}))
		check.NoError(t, outer.Release(t.Context()))
	})
	m.in(t, "what a lock is made of is not found", func(t *testing.T, r *rig) {
		check.NoError(t, r.with(t, long, nil, func(ctx context.Context) error {
			lock := r.found(t, ctx)
			if _, isRoot := lock.(*redislock.Lock); isRoot {
				return nil
			}
			for _, ctx := range []context.Context{ctx, lock.Context(t.Context())} {
				if got := redislock.FromContext(ctx); got != nil {
					t.Errorf("the root package finds %v", got)
				}
			}
			return nil
		}))
	})
	m.in(t, "it ends with the context that it is derived from", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		before, other := lock.Context(ctx), lock.Context(t.Context())
		cancel(errOwn)
		for _, held := range []context.Context{before, lock.Context(ctx)} {
			<-held.Done()
			if cause := context.Cause(held); cause != errOwn { //nolint:errorlint // it is this value
				t.Errorf("got cause %v", cause)
			}
		}
		check.NoError(t, other.Err())
		r.wantHeld(t)
		check.NoError(t, lock.Release(t.Context()))
		wantReleased(t, lock, other)
	})
}
