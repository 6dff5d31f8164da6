package multi_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

// Each function finds the lock under which it runs.
func TestFromContext(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		if lock := multi.FromContext(bounded(t)); lock != nil {
			t.Errorf("got a lock of the keys %q outside of any", lock.Keys())
		}
		want := []string{w.key("a"), w.key("b"), w.key("c")}
		noError(t, multi.With(bounded(t), w.abc(), long, nil, func(outer context.Context) error {
			lock := multi.FromContext(outer)
			if diff := cmp.Diff(want, lock.Keys()); diff != "" {
				t.Errorf("keys (-want +got):\n%s", diff)
			}
			if held := lock.Context(bounded(t)); multi.FromContext(held) != lock {
				t.Error("the lock is not found in its own context")
			}
			return multi.With(outer, []multi.Part{w.part(0, "x"), w.part(1, "y")}, long, nil, func(inner context.Context) error {
				if keys := multi.FromContext(inner).Keys(); !slices.Equal(keys, []string{w.key("x"), w.key("y")}) {
					t.Errorf("got keys %q, want those of the innermost lock", keys)
				}
				if multi.FromContext(outer) != lock {
					t.Error("the lock further out is not found any more")
				}
				return inner.Err()
			})
		}))
	})
}

// Nobody finds the lock of a part, neither under the whole lock nor in a hook of another part. A lock of the root package
// that is held further out is found through it.
func TestPartsAreNotFound(t *testing.T) {
	for _, within := range []bool{false, true} {
		t.Run(map[bool]string{false: "outside", true: "under a lock"}[within], func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				ctx := bounded(t)
				var outer *redislock.Lock
				if within {
					outer = w.block(t, long, "outer")
					ctx = outer.Context(ctx)
				}
				find := func(ctx context.Context, where string) {
					if lock := redislock.FromContext(ctx); lock != outer {
						t.Errorf("%s: got the lock of %q, want that of %q", where, lock.Keys(), outer.Keys())
					}
				}
				mini := redistest.PipeMini(t)
				var parts []multi.Part
				for _, place := range []string{"1", "2", "3"} {
					client := redislock.New(mini.Client(t), redislock.WithHooks(redislock.Hooks{
						Obtained: func(ctx context.Context, _ redislock.Event) { find(ctx, "hook of part "+place) },
						Released: func(ctx context.Context, _ redislock.Event) { find(ctx, "hook of part "+place) },
					}))
					t.Cleanup(client.Close)
					parts = append(parts, multi.Part{Client: client, Place: place, Write: []string{place}})
				}
				noError(t, multi.With(ctx, parts, long, nil, func(ctx context.Context) error {
					find(ctx, "function")
					return nil
				}))
				if within {
					noError(t, outer.Release(bounded(t)))
				}
			})
		})
	}
}

// The function of a With may release or leave its lock. That is no loss, and told once.
func TestFunctionReleases(t *testing.T) {
	for name, end := range map[string]func(context.Context, *multi.Lock) error{
		"release": func(ctx context.Context, lock *multi.Lock) error { return lock.Release(ctx) },
		"leave":   func(ctx context.Context, lock *multi.Lock) error { return lock.Leave(ctx, long) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				var d diary
				noError(t, d.client().With(bounded(t), w.abc(), long, nil, func(ctx context.Context) error {
					return end(ctx, multi.FromContext(ctx))
				}))
				d.took(t, "obtained", "released")
			})
		})
	}
}

// If the hook panics of an Obtain that has its lock, nobody gets the lock: it is given back, whatever HoldAtLeast says.
func TestObtainedPanics(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		client := multi.Client{Hooks: redislock.Hooks{Obtained: func(context.Context, redislock.Event) { panic("own") }}}
		func() {
			defer func() { _ = recover() }()
			_, _ = client.Obtain(bounded(t), w.abc(), long, &redislock.Options{Watchdog: true, HoldAtLeast: long})
			t.Error("it did not panic")
		}()
		w.wantFree(t, "a", "b", "c")
	})
}
