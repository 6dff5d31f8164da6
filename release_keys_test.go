package redislock_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestReleaseKeys(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		lock := must[*redislock.Lock](t)(w.client.ObtainMixed(ctx, w.keys("a", "b"), w.keys("c", "d"), long,
			&redislock.Options{Fenced: true}))
		number, deadline := lock.Fence(), lock.Deadline()
		noError(t, lock.ReleaseKeys(ctx, w.keys("d", "a", "d")...))
		w.wantFree(t, "a", "d")
		if diff := cmp.Diff(w.keys("b", "c"), lock.Keys()); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		if lock.Fence() != number || !lock.Deadline().Equal(deadline) {
			t.Errorf("got number %d and deadline %v, want them as they were: %d, %v", lock.Fence(), lock.Deadline(), number, deadline)
		}
		_, err := w.client.Obtain(ctx, w.keys("b"), long, nil)
		wantConflict(t, err, w.key("b"), redislock.ModeWrite)
		_, err = w.client.Obtain(ctx, w.keys("c"), long, nil)
		wantConflict(t, err, w.key("c"), redislock.ModeRead)
		other := must[*redislock.Lock](t)(w.client.Obtain(ctx, w.keys("a", "d"), long, &redislock.Options{Fenced: true}))

		noError(t, lock.Refresh(ctx, long))
		noError(t, lock.Downgrade(ctx))
		noError(t, lock.Upgrade(ctx))
		if lock.Fence() <= number {
			t.Errorf("got number %d after an upgrade, want one greater than %d", lock.Fence(), number)
		}
		noError(t, lock.ReleaseKeys(ctx, w.key("c")))
		noError(t, lock.ReleaseKeys(ctx, w.key("b"))) // the last one
		w.wantFree(t, "b", "c")
		wantIs(t, lock.Refresh(ctx, long), redislock.ErrLockNotHeld)
		noError(t, other.Release(ctx))
	})
}

func TestReleaseKeysRefused(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		lock := must[*redislock.Lock](t)(w.client.Obtain(ctx, w.keys("a", "b", "c"), long, nil))
		err := lock.ReleaseKeys(ctx, w.keys("a", "x")...)
		wantIs(t, err, redislock.ErrInvalidKeys)
		if err != nil && !strings.Contains(err.Error(), w.key("x")) {
			t.Errorf("got error %v, want one that names the key", err)
		}
		wantIs(t, lock.ReleaseKeys(ctx), redislock.ErrInvalidKeys)
		if n := len(lock.Keys()); n != 3 {
			t.Errorf("%d keys are left", n)
		}
		noError(t, lock.Refresh(ctx, long)) // all of them

		noError(t, w.rdb.Del(ctx, w.key("a")).Err())
		err = lock.ReleaseKeys(ctx, w.keys("a", "b")...)
		wantIs(t, err, redislock.ErrLockNotHeld)
		if err != nil && (!strings.Contains(err.Error(), w.key("a")) || strings.Contains(err.Error(), `lost "`+w.key("b"))) {
			t.Errorf("got error %v, want one that names what was lost", err)
		}
		w.wantFree(t, "b")
		noError(t, lock.Release(ctx))
		wantIs(t, lock.ReleaseKeys(ctx, w.key("c")), redislock.ErrLockNotHeld)
		wantIs(t, (*redislock.Lock)(nil).ReleaseKeys(ctx, "c"), redislock.ErrLockNotHeld)
	})
}

// Who stands in line for the keys has them at once, and the watchdog goes on with the rest.
func TestReleaseKeysHandsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Shared(t, redistest.Redis))
	const ttl = 6 * time.Second
	lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys("a", "b"), ttl, &redislock.Options{Watchdog: true}))
	held := lock.Context(t.Context())
	turns := make(chan turn, 1)
	w.wait(t.Context(), turns, "next", w.keys("a"), nil)
	w.inLine(t, w.key("a"), 1)
	noError(t, lock.ReleaseKeys(t.Context(), w.key("a")))
	next := wantTurn(t, turns, "next")[0]
	noError(t, next.Release(t.Context()))
	before := lock.Deadline()
	eventually(t, 2*polled, "the lease is renewed twice", func() bool { return lock.Deadline().Sub(before) > ttl/2 })
	if held.Err() != nil {
		t.Errorf("the rest was lost: %v", context.Cause(held))
	}
	noError(t, lock.Release(t.Context()))
}

// Keys are freed one after the other for longer than a lease: that of the rest is renewed meanwhile.
func TestReleaseKeysIsNoLoss(t *testing.T) {
	bubble(t, func(t *testing.T, w *world, _ *redistest.Mini, _ *journal) {
		w.rdb.AddHook(slow(5 * time.Millisecond))
		const ttl = 500 * time.Millisecond
		keys := make([]string, 400)
		for i := range keys {
			keys[i] = w.key(strconv.Itoa(i))
		}
		lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), keys, ttl, watched))
		for i, key := range keys[1:] {
			noError(t, lock.ReleaseKeys(t.Context(), key))
			if left := time.Until(lock.Deadline()); left < ttl/3 {
				t.Fatalf("got %v left after %d keys", left, i+1)
			}
		}
		noError(t, lock.Release(t.Context()))
	})
}

// slow has every command take so long.
type slow time.Duration

func (s slow) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		time.Sleep(time.Duration(s))
		return next(ctx, cmd)
	}
}

func (s slow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		time.Sleep(time.Duration(s))
		return next(ctx, cmds)
	}
}

// The answer is lost: the keys are freed in the background, and the others never.
func TestReleaseKeysReplyLost(t *testing.T) {
	t.Parallel()
	l := newLossy(t, impatient)
	set := []string{l.key, l.key + ":b"}
	lock := must[*redislock.Lock](t)(l.client.Obtain(t.Context(), set, long, &redislock.Options{Token: "mine-" + t.Name()}))
	l.relay.Blackhole(true)
	err := lock.ReleaseKeys(t.Context(), l.key)
	l.relay.Blackhole(false)
	l.relay.Cut() // what was on its way never arrives
	if !errors.Is(err, redislock.ErrUnknownOutcome) {
		t.Fatalf("got error %v, want one that is outcome not known", err)
	}
	l.freed(t)
	if diff := cmp.Diff(set[1:], lock.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	noError(t, lock.Refresh(t.Context(), long))
	noError(t, lock.Release(t.Context()))
}

// Many free parts of one lock while it is renewed and refreshed.
func TestReleaseKeysAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.Shared(t, redistest.Redis))
	names := strings.Split("abcdefghijkl", "")
	lock := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), w.keys(names...), 30*time.Second, &redislock.Options{Watchdog: true}))
	done := make(chan error, len(names)+1)
	for part := range slices.Chunk(names[:len(names)-1], 2) {
		go func() { done <- lock.ReleaseKeys(t.Context(), w.keys(part...)...) }()
		go func() { done <- lock.Refresh(t.Context(), 30*time.Second) }()
	}
	for range 2 * (len(names) / 2) {
		noError(t, <-done)
	}
	w.wantFree(t, names[:len(names)-1]...)
	if diff := cmp.Diff(w.keys(names[len(names)-1]), lock.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	noError(t, lock.Release(t.Context()))
}
