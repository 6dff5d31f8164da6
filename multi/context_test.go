package multi_test

import (
	"context"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

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
					parts = append(parts, multi.Part{Client: client, Place: place, Set: redislock.Set{Write: []string{place}}})
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
