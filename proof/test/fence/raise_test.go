package fence_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestRaiseFence(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		ctx, keys := t.Context(), w.Keys("a", "b")
		opt := &redislock.Options{Fenced: true}
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(ctx, redislock.Set{Write: keys[:1], Read: keys[1:]}, world.Long, opt))
		was := lock.Fence()
		check.NoError(t, lock.RaiseFence(ctx, was-1))
		wantNumber(t, lock, was)
		high := was + int64(time.Hour/time.Microsecond)
		check.NoError(t, lock.RaiseFence(ctx, high))
		wantNumber(t, lock, high)
		again := check.Must[*redislock.Lock](t)(w.Client.As(lock.Token()).ObtainSet(ctx, redislock.Set{Write: keys[:1], Read: keys[1:]}, world.Long,
			&redislock.Options{Fenced: true}))
		wantNumber(t, again, high) // it is that of the hold
		for _, state := range check.Must[[]redislock.KeyState](t)(w.Client.Inspect(ctx, keys)) {
			if state.Fence != high {
				t.Errorf("got %d for %s, want %d", state.Fence, state.Key, high)
			}
		}
		check.NoError(t, lock.Release(ctx))
		for _, key := range keys {
			next := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, []string{key}, world.Long, opt))
			if next.Fence() <= high {
				t.Errorf("got %d after %d", next.Fence(), high)
			}
		}
		check.Is(t, lock.RaiseFence(ctx, high+1), redislock.ErrLockNotHeld)

		most := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("c"), world.Long, opt))
		check.NoError(t, most.RaiseFence(ctx, 1<<52))
		last := most.Fence()
		check.NoError(t, most.Release(ctx))
		for range 3 { // there are numbers left
			next := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("c"), world.Long, opt))
			if next.Fence() <= last {
				t.Errorf("got %d after %d", next.Fence(), last)
			}
			last = next.Fence()
			check.NoError(t, next.Release(ctx))
		}
	})
}

func TestRaiseFenceInVain(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		ctx, keys := t.Context(), w.Keys("a", "b")
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, keys, world.Long, &redislock.Options{Fenced: true}))
		was := lock.Fence()
		check.NoError(t, w.RDB.Del(ctx, keys[1]).Err())
		err := lock.RaiseFence(ctx, was+1)
		check.Is(t, err, redislock.ErrLockNotHeld)
		wantNumber(t, lock, was)
		state := check.Must[[]redislock.KeyState](t)(w.Client.Inspect(ctx, []string{keys[0]}))[0]
		if state.Fence != was {
			t.Errorf("got %d for a key of a lost lock, want %d", state.Fence, was)
		}

		plain := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("c"), world.Long, nil))
		if err := plain.RaiseFence(ctx, 1); err == nil {
			t.Error("got no error for a lock without a number")
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		other := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("d"), world.Long, &redislock.Options{Fenced: true}))
		for _, bad := range []int64{0, -1, 1<<52 + 1} {
			if err := other.RaiseFence(ctx, bad); err == nil {
				t.Errorf("got no error for %d", bad)
			}
		}
		if err := other.RaiseFence(ended, was); err != nil {
			check.Is(t, err, context.Canceled)
		}
	})
}
