package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
)

func TestRaiseFence(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		ctx, keys := t.Context(), w.keys("a", "b")
		opt := &redislock.Options{Fenced: true}
		lock := must[*redislock.Lock](t)(w.client.ObtainMixed(ctx, keys[:1], keys[1:], long, opt))
		was := lock.Fence()
		noError(t, lock.RaiseFence(ctx, was-1))
		wantNumber(t, lock, was)
		high := was + int64(time.Hour/time.Microsecond)
		noError(t, lock.RaiseFence(ctx, high))
		wantNumber(t, lock, high)
		again := must[*redislock.Lock](t)(w.client.ObtainMixed(ctx, keys[:1], keys[1:], long,
			&redislock.Options{Fenced: true, Token: lock.Token()}))
		wantNumber(t, again, high) // it is that of the hold
		for _, state := range must[[]redislock.KeyState](t)(w.client.Inspect(ctx, keys...)) {
			if state.Fence != high {
				t.Errorf("got %d for %s, want %d", state.Fence, state.Key, high)
			}
		}
		noError(t, lock.Release(ctx))
		for _, key := range keys {
			next := must[*redislock.Lock](t)(w.client.Obtain(ctx, []string{key}, long, opt))
			if next.Fence() <= high {
				t.Errorf("got %d after %d", next.Fence(), high)
			}
		}
		wantIs(t, lock.RaiseFence(ctx, high+1), redislock.ErrLockNotHeld)

		most := must[*redislock.Lock](t)(w.client.Obtain(ctx, w.keys("c"), long, opt))
		noError(t, most.RaiseFence(ctx, 1<<52))
		last := most.Fence()
		noError(t, most.Release(ctx))
		for range 3 { // there are numbers left
			next := must[*redislock.Lock](t)(w.client.Obtain(ctx, w.keys("c"), long, opt))
			if next.Fence() <= last {
				t.Errorf("got %d after %d", next.Fence(), last)
			}
			last = next.Fence()
			noError(t, next.Release(ctx))
		}
	})
}

func TestRaiseFenceInVain(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		ctx, keys := t.Context(), w.keys("a", "b")
		lock := must[*redislock.Lock](t)(w.client.Obtain(ctx, keys, long, &redislock.Options{Fenced: true}))
		was := lock.Fence()
		noError(t, w.rdb.Del(ctx, keys[1]).Err())
		err := lock.RaiseFence(ctx, was+1)
		wantIs(t, err, redislock.ErrLockNotHeld)
		wantNumber(t, lock, was)
		state := must[[]redislock.KeyState](t)(w.client.Inspect(ctx, keys[0]))[0]
		if state.Fence != was {
			t.Errorf("got %d for a key of a lost lock, want %d", state.Fence, was)
		}

		plain := must[*redislock.Lock](t)(w.client.Obtain(ctx, w.keys("c"), long, nil))
		if err := plain.RaiseFence(ctx, 1); err == nil {
			t.Error("got no error for a lock without a number")
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		other := must[*redislock.Lock](t)(w.client.Obtain(ctx, w.keys("d"), long, &redislock.Options{Fenced: true}))
		for _, bad := range []int64{0, -1, 1<<52 + 1} {
			if err := other.RaiseFence(ctx, bad); err == nil {
				t.Errorf("got no error for %d", bad)
			}
		}
		if err := other.RaiseFence(ended, was); err != nil {
			wantIs(t, err, context.Canceled)
		}
	})
}
