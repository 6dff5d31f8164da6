package quorum_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/quorum"
)

// slowly has the first of the node's next requests wait for so long, and returns when it does.
func (w *world) slowly(t *testing.T, i int, wait time.Duration, begin func()) {
	t.Helper()
	asked := make(chan struct{})
	var seen atomic.Bool
	w.relays[i].OnRequest(func(string, []string) {
		if seen.CompareAndSwap(false, true) {
			close(asked)
			time.Sleep(wait) // only this connection waits
		}
	})
	begin()
	wantAsked(t, asked)
	w.relays[i].OnRequest(nil)
}

// wantAlone checks that nobody else can have the key as long as the lock has it.
func (w *world) wantAlone(t *testing.T, lock *quorum.Lock) {
	t.Helper()
	time.Sleep(2 * time.Second) // what was under way arrives
	client := must[*quorum.Client](t)(quorum.New(w.newNodes(t), quorum.WithNodeTimeout(long)))
	closeAtEnd(t, client.Close)
	other, err := client.Obtain(bounded(t), []string{"k"}, long, nil)
	wantIs(t, err, redislock.ErrNotObtained)
	if other != nil {
		t.Errorf("two hold the key; by the first one %d nodes have it, until %v", lock.Nodes(), lock.Deadline())
	}
}

// late is for how long a request is under way that comes too late.
const late = 1500 * time.Millisecond

// If a token is used again, requests of its last lock that are still under way do no harm to its next lock. Each token is
// that of one test alone: in one process, whoever uses it is one owner.
func TestTokenComesBack(t *testing.T) {
	t.Parallel()
	t.Run("after a release", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 3)
		w.warmUp(t)
		first := must[*quorum.Lock](t)(w.client.As(t.Name()).Obtain(bounded(t), []string{"k"}, long, nil))
		wantNodes(t, first, 3)
		w.slowly(t, 2, late, func() { noError(t, first.Release(bounded(t))) })
		others := w.block(t, "k", long, 1)
		next := must[*quorum.Lock](t)(w.client.As(t.Name()).Obtain(bounded(t), []string{"k"}, long, nil))
		noError(t, others[0].Release(bounded(t)))
		w.wantAlone(t, next)
	})
	t.Run("after a release that a node did not answer in time", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 3)
		w.hurry(t, short)
		var lock *quorum.Lock
		obtain := func() bool {
			var err error
			lock, err = w.client.As(t.Name()).Obtain(bounded(t), []string{"k"}, long, nil)
			return err == nil
		}
		check.Eventually(t, time.Minute, "three nodes in time", func() bool {
			if !obtain() {
				return false
			}
			for range 100 { // the third may be a little later
				if lock.Nodes() == 3 {
					return true
				}
				time.Sleep(10 * time.Millisecond)
			}
			return false
		})
		w.slowly(t, 2, short+late, func() { _ = lock.Release(bounded(t)) })
		others := w.block(t, "k", long, 1)
		check.Eventually(t, time.Minute, "it has the others", obtain) // it may wait 10 s for what was not answered
		noError(t, others[0].Release(bounded(t)))
		w.wantAlone(t, lock)
	})
	t.Run("after a node was to be won back", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 3)
		w.warmUp(t)
		first := must[*quorum.Lock](t)(w.client.As(t.Name()).Obtain(bounded(t), []string{"k"}, 5*brisk, &redislock.Options{Watchdog: true}))
		wantNodes(t, first, 3)
		w.steal(t, 2)
		wantNodes(t, first, 2) // it is asked again after a third of the lease
		w.slowly(t, 2, late, func() {})
		noError(t, first.Release(bounded(t)))
		others := w.block(t, "k", long, 1)
		next := must[*quorum.Lock](t)(w.client.As(t.Name()).Obtain(bounded(t), []string{"k"}, long, &redislock.Options{
			RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond),
		}))
		noError(t, others[0].Release(bounded(t)))
		w.wantAlone(t, next)
	})
	t.Run("after a loss", func(t *testing.T) {
		t.Parallel()
		w := realWorld(t, 3)
		w.warmUp(t)
		for i := range 20 {
			// Mostly a Refresh finds out about the loss, sometimes the watchdog.
			ttl := long
			if i%10 == 9 {
				ttl = 5 * brisk
			}
			first := must[*quorum.Lock](t)(w.client.As(t.Name()).Obtain(bounded(t), []string{"k"}, ttl, &redislock.Options{
				Watchdog: true, RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond),
			}))
			lost := first.Lost()
			wantNodes(t, first, 3)
			w.steal(t, 0, 1)
			if ttl == long {
				wantOnly(t, first.Refresh(bounded(t), long), redislock.ErrLockNotHeld)
			}
			receive(t, lost, "the loss")
			next := must[*quorum.Lock](t)(w.client.As(t.Name()).Obtain(bounded(t), []string{"k"}, long, nil))
			wantNodes(t, next, 3)
			time.Sleep(30 * time.Millisecond) // for what is still under way, if anything is
			if n := w.holders(t, "k"); n != 3 {
				t.Fatalf("%d nodes have the key, want 3", n)
			}
			noError(t, next.Release(bounded(t)))
			w.settled(t)
		}
	})
}
