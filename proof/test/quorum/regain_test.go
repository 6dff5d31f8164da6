package quorum_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/quorum"
)

// brisk is a ttl whose thirds pass within a test.
const brisk = 3 * time.Second

func TestRegain(t *testing.T) {
	t.Parallel()
	watched := &redislock.Options{Watchdog: true, Metadata: "m"}

	t.Run("nodes that have lost the lock", func(t *testing.T) {
		for _, token := range []string{"", "mine"} {
			t.Run("token "+token, func(t *testing.T) {
				bubble(t, 5, func(t *testing.T, w *world) {
					lock := must[*quorum.Lock](t)(as(w.client, token).Obtain(bounded(t), []string{"k"}, brisk, &redislock.Options{Watchdog: true}))
					wantNodes(t, lock, 5)
					for range 3 {
						w.steal(t, 0, 4)
						wantNodes(t, lock, 3)
						wantNodes(t, lock, 5)
						w.wantHolders(t, "k", 5)
					}
					if err := lock.Context(t.Context()).Err(); err != nil {
						t.Errorf("the lock has ended: %v", err)
					}
					noError(t, lock.Release(bounded(t)))
					w.wantHolders(t, "k", 0)
				})
			})
		}
	})

	t.Run("nodes that never had it", func(t *testing.T) {
		bubble(t, 5, func(t *testing.T, w *world) {
			others := w.block(t, "k", long, 1, 2)
			lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, brisk, watched))
			wantNodes(t, lock, 3)
			for _, other := range others {
				noError(t, other.Release(bounded(t)))
			}
			wantNodes(t, lock, 5)
			for _, rdb := range w.rdbs {
				if _, metadata, _ := strings.Cut(must[string](t)(rdb.Get(t.Context(), "k").Result()), "|"); metadata != "m" {
					t.Errorf("got metadata %q", metadata)
				}
			}
			noError(t, lock.Release(bounded(t)))
			w.wantHolders(t, "k", 0)
		})
	})

	t.Run("a node that was down, before its majority is lost", func(t *testing.T) {
		t.Parallel()
		w := realWorld(t, 3)
		w.warmUp(t)
		lock := w.obtain(t, 4*brisk, watched)
		held := lock.Context(t.Context())
		for _, i := range []int{0, 1, 2} {
			w.servers[i].Restart() // empty
			wantNodes(t, lock, 2)
			wantNodes(t, lock, 3)
		}
		if held.Err() != nil {
			t.Errorf("the lock is lost: %v", context.Cause(held))
		}
		noError(t, lock.Release(bounded(t)))
		w.wantHolders(t, "k", 0)
	})

	t.Run("not without a watchdog", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			others := append(w.block(t, "i", long, 2), w.block(t, "k", long, 2)...)
			idle := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"i"}, brisk, nil))
			lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, brisk, watched))
			w.settled(t)
			for _, other := range others {
				noError(t, other.Release(bounded(t)))
			}
			wantNodes(t, lock, 3) // by now the other one would have been
			if got := w.count("obtained", 2); got != 1 {
				t.Errorf("node 2 has granted %d locks, want one", got)
			}
			noError(t, lock.Release(bounded(t)))
			_ = idle.Release(bounded(t))
		})
	})

	t.Run("a grant that comes after the release is given back", func(t *testing.T) {
		t.Parallel()
		w := relayedBy(t, 3, neverGivesUp, quorum.WithNodeTimeout(long))
		w.warmUp(t)
		w.block(t, "k", long, 2)
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, 10*brisk, watched))
		asked := make(chan struct{}, 100)
		eventually(t, "it is refused", func() bool { return w.count("refused", 2) > 0 })
		w.relays[2].OnRequest(func(string, []string) { asked <- struct{}{} })
		w.hold(2)
		wantAsked(t, asked)
		w.steal(t, 2)
		began := time.Now()
		noError(t, lock.Release(bounded(t)))
		if took := time.Since(began); took > 5*brisk { // it would be asked for as long as the lease is
			t.Errorf("a release waited %v for a node that does not answer", took)
		}
		addr := w.rdbs[2].Options().Addr
		w.release(2)
		eventually(t, "it has arrived at "+addr, func() bool { return w.relays[2].Requests() > 0 })
		w.wantHolders(t, "k", 0)
	})

	t.Run("a node that still has what nobody knows of", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 3)
		w.warmUp(t)
		lock := w.obtain(t, 4*brisk, watched)
		w.relays[2].DropReplies(true)
		noError(t, w.rdbs[2].PExpire(t.Context(), "k", long).Err()) // a renewal, as it were, that was not answered
		wantNodes(t, lock, 2)
		w.relays[2].DropReplies(false)
		wantNodes(t, lock, 3)
		noError(t, lock.Release(bounded(t)))
		w.wantHolders(t, "k", 0)
	})
}

// The holder learns before the deadline that a majority is lost.
func TestMajorityLost(t *testing.T) {
	t.Parallel()
	w := realWorld(t, 5)
	w.warmUp(t)
	for try := range 5 {
		lock := w.obtain(t, 4*brisk, &redislock.Options{Watchdog: true})
		ended := make(chan time.Time, 1)
		held := lock.Context(t.Context())
		context.AfterFunc(held, func() { ended <- time.Now() })
		for _, i := range []int{0, 1, 2} {
			w.servers[i].Kill()
		}
		wantLost(t, held)
		early := lock.Deadline().Sub(receive(t, ended, "what ended the context"))
		receive(t, lock.Lost(), "the loss")
		if lock.Nodes() > 2 {
			t.Errorf("got %d nodes", lock.Nodes())
		}
		w.wantHolders(t, "k", 0) // at the two that are there
		for _, i := range []int{0, 1, 2} {
			w.servers[i].Restart()
		}
		wantOnly(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
		if early > 0 {
			return
		}
		t.Logf("try %d: ended %v after the deadline", try, -early)
		w.wantBack(t)
	}
	t.Error("it never ended before the deadline")
}
