package lease_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

func TestReleaseKeys(t *testing.T) {
	world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
		ctx := t.Context()
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(ctx, redislock.Set{Write: w.Keys("a", "b"), Read: w.Keys("c", "d")}, world.Long,
			&redislock.Options{Fenced: true}))
		number, deadline := lock.Fence(), lock.Deadline()
		check.NoError(t, lock.ReleaseKeys(ctx, w.Keys("d", "a", "d")))
		w.WantFree(t, w.Keys("a", "d")...)
		if diff := cmp.Diff(w.Keys("b", "c"), lock.Keys()); diff != "" {
			t.Errorf("keys (-want +got):\n%s", diff)
		}
		if lock.Fence() != number || !lock.Deadline().Equal(deadline) {
			t.Errorf("got number %d and deadline %v, want them as they were: %d, %v", lock.Fence(), lock.Deadline(), number, deadline)
		}
		_, err := w.Client.Obtain(ctx, w.Keys("b"), world.Long, nil)
		world.WantConflict(t, err, w.Key("b"), redislock.ModeWrite)
		_, err = w.Client.Obtain(ctx, w.Keys("c"), world.Long, nil)
		world.WantConflict(t, err, w.Key("c"), redislock.ModeRead)
		other := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a", "d"), world.Long, &redislock.Options{Fenced: true}))

		check.NoError(t, lock.Refresh(ctx, world.Long))
		check.NoError(t, lock.Downgrade(ctx))
		check.NoError(t, lock.Upgrade(ctx))
		if lock.Fence() <= number {
			t.Errorf("got number %d after an upgrade, want one greater than %d", lock.Fence(), number)
		}
		check.NoError(t, lock.ReleaseKeys(ctx, []string{w.Key("c")}))
		check.NoError(t, lock.ReleaseKeys(ctx, []string{w.Key("b")})) // the last one
		w.WantFree(t, w.Keys("b", "c")...)
		check.Is(t, lock.Refresh(ctx, world.Long), redislock.ErrLockNotHeld)
		check.NoError(t, other.Release(ctx))
	})
}

func TestReleaseKeysRefused(t *testing.T) {
	world.ScenarioBeside(t, func(t *testing.T, w *world.World) {
		ctx := t.Context()
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("a", "b", "c"), world.Long, nil))
		err := lock.ReleaseKeys(ctx, w.Keys("a", "x"))
		check.Is(t, err, &redislock.InvalidError{Argument: "keys"})
		if err != nil && !strings.Contains(err.Error(), w.Key("x")) {
			t.Errorf("got error %v, want one that names the key", err)
		}
		check.Is(t, lock.ReleaseKeys(ctx, nil), &redislock.InvalidError{Argument: "keys"})
		if n := len(lock.Keys()); n != 3 {
			t.Errorf("%d keys are left", n)
		}
		check.NoError(t, lock.Refresh(ctx, world.Long)) // all of them

		check.NoError(t, w.RDB.Del(ctx, w.Key("a")).Err())
		err = lock.ReleaseKeys(ctx, w.Keys("a", "b"))
		check.Is(t, err, redislock.ErrLockNotHeld)
		if err != nil && (!strings.Contains(err.Error(), w.Key("a")) || strings.Contains(err.Error(), `lost "`+w.Key("b"))) {
			t.Errorf("got error %v, want one that names what was lost", err)
		}
		w.WantFree(t, w.Keys("b")...)
		check.NoError(t, lock.Release(ctx))
		check.Is(t, lock.ReleaseKeys(ctx, []string{w.Key("c")}), redislock.ErrLockNotHeld)
		check.Is(t, (*redislock.Lock)(nil).ReleaseKeys(ctx, []string{"c"}), redislock.ErrLockNotHeld)
	})
}

// A waiter in line for the freed keys has them at once, and the watchdog goes on with the rest.
func TestReleaseKeysHandsOver(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	const ttl = 6 * time.Second
	lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), ttl, &redislock.Options{Watchdog: true}))
	held := lock.Context(t.Context())
	turns := make(chan world.Turn, 1)
	w.Wait(t.Context(), turns, "next", w.Keys("a"), nil)
	w.InLine(t, w.Key("a"), 1)
	check.NoError(t, lock.ReleaseKeys(t.Context(), []string{w.Key("a")}))
	next := world.WantTurn(t, turns, "next")[0]
	check.NoError(t, next.Release(t.Context()))
	before := lock.Deadline()
	check.Eventually(t, 2*world.Polled, "the lease is renewed twice", func() bool { return lock.Deadline().Sub(before) > ttl/2 })
	if held.Err() != nil {
		t.Errorf("the rest was lost: %v", context.Cause(held))
	}
	check.NoError(t, lock.Release(t.Context()))
}

// Keys are freed one after the other for longer than a lease: that of the rest is renewed meanwhile.
func TestReleaseKeysIsNoLoss(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		w.RDB.AddHook(check.Slow(5 * time.Millisecond))
		const ttl = 500 * time.Millisecond
		keys := make([]string, 400)
		for i := range keys {
			keys[i] = w.Key(strconv.Itoa(i))
		}
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), keys, ttl, world.Watched))
		for i, key := range keys[1:] {
			check.NoError(t, lock.ReleaseKeys(t.Context(), []string{key}))
			if left := time.Until(lock.Deadline()); left < ttl/3 {
				t.Fatalf("got %v left after %d keys", left, i+1)
			}
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

// If the answer is lost, the keys are freed in the background, and the other keys of the lock never are.
func TestReleaseKeysReplyLost(t *testing.T) {
	t.Parallel()
	l := world.NewLossy(t, world.Impatient)
	set := []string{l.Key, l.Key + ":b"}
	lock := check.Must[*redislock.Lock](t)(l.Client.As("mine-"+t.Name()).Obtain(t.Context(), set, world.Long, nil))
	l.Relay.Blackhole(true)
	err := lock.ReleaseKeys(t.Context(), []string{l.Key})
	l.Relay.Blackhole(false)
	l.Relay.Cut() // what was on its way never arrives
	if !errors.Is(err, redislock.ErrUnknownOutcome) {
		t.Fatalf("got error %v, want one that is outcome not known", err)
	}
	l.Freed(t)
	if diff := cmp.Diff(set[1:], lock.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	check.NoError(t, lock.Refresh(t.Context(), world.Long))
	check.NoError(t, lock.Release(t.Context()))
}

// Many free parts of one lock while it is renewed and refreshed.
func TestReleaseKeysAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	names := strings.Split("abcdefghijkl", "")
	lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys(names...), 30*time.Second, &redislock.Options{Watchdog: true}))
	done := make(chan error, len(names)+1)
	for part := range slices.Chunk(names[:len(names)-1], 2) {
		go func() { done <- lock.ReleaseKeys(t.Context(), w.Keys(part...)) }()
		go func() { done <- lock.Refresh(t.Context(), 30*time.Second) }()
	}
	for range 2 * (len(names) / 2) {
		check.NoError(t, <-done)
	}
	w.WantFree(t, w.Keys(names[:len(names)-1]...)...)
	if diff := cmp.Diff(w.Keys(names[len(names)-1]), lock.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	check.NoError(t, lock.Release(t.Context()))
}
