package quorum_test

import (
	"context"
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

// wantFree checks that a writer can have "k".
func (w *world) wantFree(t *testing.T) {
	t.Helper()
	noError(t, must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil)).Release(bounded(t)))
}

func TestLeave(t *testing.T) {
	t.Run("the keys are taken for so long", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			lock := w.obtain(t, brisk, &redislock.Options{Watchdog: true, Metadata: "job=report"})
			held := lock.Context(t.Context())
			noError(t, lock.Leave(bounded(t), 10*time.Second))
			if got := context.Cause(held); got != context.Canceled { //nolint:errorlint // it is this value
				t.Errorf("got cause %v", got)
			}
			time.Sleep(5 * time.Second)
			w.wantLeft(t, 4*time.Second, 5*time.Second+10*time.Millisecond)
			wantOnly(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
			wantOnly(t, lock.Leave(bounded(t), time.Hour), redislock.ErrLockNotHeld)
			wantOnly(t, lock.Refresh(bounded(t), long), redislock.ErrLockNotHeld)
			if got := w.holders(t, "k"); got != 3 {
				t.Errorf("%d nodes have the key", got)
			}
			time.Sleep(6 * time.Second)
			w.wantFree(t)
		})
	})
	t.Run("sets that are read in part", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			lock := must[*quorum.Lock](t)(w.client.ObtainMixed(t.Context(), []string{"k"}, []string{"r"}, long, nil))
			noError(t, lock.Leave(t.Context(), 10*time.Second))
			w.wantLeft(t, 9*time.Second, 10*time.Second)
			noError(t, must[*quorum.Lock](t)(w.client.ObtainRead(t.Context(), []string{"r"}, time.Second, nil)).Release(t.Context()))
			_, err := w.client.Obtain(t.Context(), []string{"r"}, long, nil)
			wantOnly(t, err, redislock.ErrNotObtained)
			time.Sleep(11 * time.Second)
			w.wantFree(t)
		})
	})
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
	t.Run("times that are none", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 3)
		client := w.newClient(t, quorum.WithQuarantine(time.Hour))
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil))
		wantOnly(t, lock.Leave(bounded(t), 365*24*time.Hour+1), redislock.ErrInvalidTTL)
		wantOnly(t, client.Attach([]string{"k"}, "t").Leave(bounded(t), 2*time.Hour), redislock.ErrInvalidTTL)
		var nobody *quorum.Lock
		wantOnly(t, nobody.Leave(bounded(t), time.Second), redislock.ErrLockNotHeld)
		noError(t, lock.Release(bounded(t))) // it is held still
	})
	t.Run("until a time that has passed it is a Release", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			for _, ttl := range []time.Duration{0, -time.Minute} {
				noError(t, w.obtain(t, long, nil).Leave(t.Context(), ttl))
				w.wantHolders(t, "k", 0)
			}
		})
	})
}

func TestHoldAtLeast(t *testing.T) {
	t.Run("a release before that leaves the keys for the rest", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			r := &eventLog{}
			client := w.newClient(t, quorum.WithHooks(r.hooks()))
			opt := &redislock.Options{HoldAtLeast: 10 * time.Second}
			noError(t, client.With(t.Context(), []string{"k"}, brisk, opt, func(context.Context) error {
				time.Sleep(4 * time.Second)
				return nil
			}))
			names, events := r.take()
			if names != "obtained released" || events[1].Kept < 5*time.Second || events[1].Kept > 6*time.Second {
				t.Errorf("got events %s, the last one %+v", names, events[1])
			}
			w.wantLeft(t, 5*time.Second, 6*time.Second)
			time.Sleep(7 * time.Second)
			w.wantFree(t)
		})
	})
	t.Run("a release after that frees them", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			r := &eventLog{}
			client := w.newClient(t, quorum.WithHooks(r.hooks()))
			lock := must[*quorum.Lock](t)(client.Obtain(t.Context(), []string{"k"}, long, &redislock.Options{HoldAtLeast: time.Second}))
			time.Sleep(time.Second)
			noError(t, lock.Release(t.Context()))
			if _, events := r.take(); events[1].Kept != 0 {
				t.Errorf("got event %+v", events[1])
			}
			w.wantHolders(t, "k", 0)
		})
	})
	t.Run("the later end counts", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			lock := w.obtain(t, long, &redislock.Options{HoldAtLeast: 10 * time.Second})
			noError(t, lock.Leave(t.Context(), time.Second))
			w.wantLeft(t, 9*time.Second, 10*time.Second)
		})
	})
	t.Run("what nobody got is free at once", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			others := w.block(t, "k", long, 0, 1)
			_, err := w.client.Obtain(t.Context(), []string{"k"}, long, &redislock.Options{HoldAtLeast: time.Hour})
			wantOnly(t, err, redislock.ErrNotObtained)
			for _, other := range others {
				noError(t, other.Release(t.Context()))
			}
			w.wantHolders(t, "k", 0)
		})
	})
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
