package quorum_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/quorum"
)

// wantLeft checks that nobody can have "k", because it was left, and for about how long.
func (w *world) wantLeft(t *testing.T, least, most time.Duration) {
	t.Helper()
	var err error
	var conflict *redislock.ConflictError
	eventually(t, "the key is left", func() bool { // at the last of the nodes, too
		_, err = w.client.Obtain(bounded(t), []string{"k"}, long, nil)
		return errors.As(err, &conflict) && conflict.Left
	})
	if conflict.TTL < least || conflict.TTL > most {
		t.Fatalf("got error %v, want a key that was left for %v to %v", err, least, most)
	}
}

func TestLeave(t *testing.T) {
	t.Run("a majority leaves them", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			lock := w.obtain(t, long, nil)
			w.steal(t, 1)
			noError(t, lock.Leave(t.Context(), 10*time.Second))
			w.wantLeft(t, 9*time.Second, 10*time.Second)
		})
	})
	t.Run("after a loss there is nothing to leave", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			lock := w.obtain(t, long, nil)
			w.steal(t, 0, 1)
			wantOnly(t, lock.Refresh(t.Context(), long), redislock.ErrLockNotHeld)
			wantOnly(t, lock.Leave(t.Context(), 10*time.Second), redislock.ErrLockNotHeld)
			w.wantHolders(t, "k", 0)
		})
	})
	t.Run("a time longer than the uptime that is asked for", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 3)
		w.nodes = w.newNodes(t, redislock.WithMinUptime(time.Hour))
		wantOnly(t, w.newClient(t).Attach([]string{"k"}, "t").Leave(bounded(t), 2*time.Hour), &redislock.InvalidError{Argument: "ttl"})
	})
}

func TestHoldAtLeast(t *testing.T) {
	t.Run("a node that was won back keeps nothing for longer", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			lock := w.obtain(t, brisk, &redislock.Options{HoldAtLeast: 20 * brisk, Watchdog: true})
			time.Sleep(15 * brisk)
			w.steal(t, 2)
			wantNodes(t, lock, 2)
			wantNodes(t, lock, 3)
			time.Sleep(6 * brisk)
			noError(t, lock.Release(t.Context()))
			synctest.Wait()
			if got := w.holders(t, "k"); got != 0 {
				t.Errorf("%d nodes have the key", got)
			}
		})
	})
	t.Run("so is what comes after the end", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 3)
		w.warmUp(t)
		w.hold(2)
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, &redislock.Options{HoldAtLeast: time.Hour}))
		noError(t, lock.Release(bounded(t)))
		w.release(2)
		w.wantHolders(t, "k", 2)
		eventually(t, "the third has answered", func() bool { return w.count("released", 2) > 0 })
		w.wantHolders(t, "k", 2)
		w.wantLeft(t, long, time.Hour)
	})
}
