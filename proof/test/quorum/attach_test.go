package quorum_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/quorum"
)

// owned is a world where a lock of "k" and "r" is held under a token, by another Client.
func (w *world) owned(t *testing.T, ttl time.Duration, watchdog bool) *quorum.Lock {
	t.Helper()
	lock := must[*quorum.Lock](t)(w.newClient(t).As(t.Name()).ObtainSet(t.Context(), redislock.Set{Write: []string{"k"}, Read: []string{"r"}}, ttl,
		&redislock.Options{Watchdog: watchdog}))
	wantNodes(t, lock, len(w.nodes))
	return lock
}

func TestAttach(t *testing.T) {
	keys := []string{"k", "r", "k"}
	t.Run("refresh, ttl and release", func(t *testing.T) {
		bubble(t, 5, func(t *testing.T, w *world) {
			_ = w.owned(t, long, false)
			lock := w.client.Attach(keys, t.Name())
			if got := lock.Keys(); strings.Join(got, " ") != "k r" || !lock.Deadline().IsZero() || lock.Fence() != 0 || lock.Metadata() != "" {
				t.Errorf("got keys %v, deadline %v", got, lock.Deadline())
			}
			if got := must[time.Duration](t)(lock.TTL(t.Context())); got <= 0 || got > long {
				t.Errorf("got ttl %v", got)
			}
			w.steal(t, 1, 3)
			noError(t, lock.Refresh(t.Context(), time.Hour))
			wantNodes(t, lock, 3)
			if got := time.Until(lock.Deadline()); got < time.Hour/2 || got > time.Hour {
				t.Errorf("the deadline is in %v", got)
			}
			if got := must[time.Duration](t)(lock.TTL(t.Context())); got <= long {
				t.Errorf("got ttl %v", got)
			}
			noError(t, lock.Refresh(t.Context(), time.Hour))
			time.Sleep(time.Second)
			if got := w.holders(t, "k"); got != 3 {
				t.Errorf("%d nodes have the key: others were asked to join in, for writing perhaps", got)
			}
			noError(t, lock.Release(t.Context()))
			w.wantHolders(t, "k", 0)
			w.wantHolders(t, "r", 0)
			wantOnly(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
			_, err := lock.TTL(t.Context())
			wantOnly(t, err, redislock.ErrLockNotHeld)
		})
	})
	t.Run("left", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			owner := w.owned(t, brisk, true)
			held := owner.Context(t.Context())
			noError(t, w.client.Attach(keys, t.Name()).Leave(t.Context(), 20*time.Second))
			wantLost(t, held)
			time.Sleep(2 * time.Second)
			w.wantLeft(t, 10*time.Second, 20*time.Second)
		})
	})
	t.Run("contexts end by the deadline of the first Refresh", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 5)
		w.warmUp(t)
		_ = w.owned(t, long, false)
		lock := w.client.Attach(keys, t.Name())
		held := lock.Context(t.Context())
		w.hold(3, 4) // nothing is known of these
		noError(t, lock.Refresh(bounded(t), time.Second))
		wantLost(t, held)
		wantOnly(t, lock.Refresh(bounded(t), time.Second), redislock.ErrLockNotHeld)
		w.release(3, 4)
	})
	t.Run("what has not confirmed a Refresh does not count", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 5)
		w.warmUp(t)
		_ = w.owned(t, long, false)
		lock := w.client.Attach(keys, t.Name())
		held := lock.Context(t.Context())
		w.hold(3, 4)
		noError(t, lock.Refresh(bounded(t), long))
		if got := lock.Nodes(); got != 3 {
			t.Errorf("got %d nodes, want those that have answered", got)
		}
		w.steal(t, 0)
		wantOnly(t, lock.Refresh(bounded(t), long), redislock.ErrLockNotHeld)
		wantLost(t, held)
		w.release(3, 4)
	})
	t.Run("a minority does not count", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			_ = w.owned(t, long, false)
			w.steal(t, 0, 2)
			lock := w.client.Attach(keys, t.Name())
			_, err := lock.TTL(t.Context())
			wantOnly(t, err, redislock.ErrLockNotHeld)
			held := lock.Context(t.Context())
			err = lock.Refresh(t.Context(), long)
			wantOnly(t, err, redislock.ErrLockNotHeld)
			wantLost(t, held)
			time.Sleep(time.Second)
			if got := w.holders(t, "k"); got != 1 {
				t.Errorf("%d nodes have the key: a handle has freed what it had not obtained", got)
			}
			wantOnly(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
			w.wantHolders(t, "k", 0)
		})
	})
	t.Run("of somebody else", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			owner := w.owned(t, long, false)
			lock := w.client.Attach(keys, "theirs")
			wantOnly(t, lock.Refresh(t.Context(), long), redislock.ErrLockNotHeld)
			wantOnly(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
			time.Sleep(time.Second)
			if got := w.holders(t, "k"); got != 3 {
				t.Errorf("%d nodes have the key", got)
			}
			noError(t, owner.Release(t.Context()))
		})
	})
	t.Run("bad keys, bad tokens", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			for _, test := range []struct {
				lock *quorum.Lock
				want error
			}{
				{w.client.Attach(nil, t.Name()), &redislock.InvalidError{Argument: "keys"}},
				{w.client.Attach([]string{""}, t.Name()), &redislock.InvalidError{Argument: "keys"}},
				{w.client.Attach([]string{"k"}, ""), &redislock.InvalidError{Argument: "token"}},
				{w.client.Attach([]string{"k"}, "a|b"), &redislock.InvalidError{Argument: "token"}},
			} {
				for range 2 { // each operation says so, each time
					_, err := test.lock.TTL(t.Context())
					for _, err := range []error{
						err, test.lock.Refresh(t.Context(), long), test.lock.Release(t.Context()), test.lock.Leave(t.Context(), long),
					} {
						wantIs(t, err, test.want)
						if !strings.HasPrefix(err.Error(), "quorum: ") {
							t.Errorf("got error %v", err)
						}
					}
				}
				if ctx := test.lock.Context(context.Background()); ctx.Err() != nil {
					t.Errorf("its context has ended: %v", context.Cause(ctx))
				}
			}
			if w.count("released", 0) != 0 {
				t.Error("a node was asked")
			}
		})
	})
}
