package quorum_test

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/quorum"
)

// hold has relays keep the requests, release lets them pass.
func (w *world) hold(at ...int) {
	for _, i := range at {
		w.relays[i].HoldRequests()
	}
}

func (w *world) release(at ...int) {
	for _, i := range at {
		w.relays[i].ReleaseRequests()
	}
}

// warmUp connects every node and loads the scripts everywhere.
func (w *world) warmUp(t *testing.T) {
	t.Helper()
	lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"warm"}, long, nil))
	wantNodes(t, lock, len(w.nodes))
	noError(t, lock.Refresh(bounded(t), long))
	_, err := lock.TTL(bounded(t))
	noError(t, err)
	noError(t, lock.Release(bounded(t)))
	w.wantHolders(t, "warm", 0)
}

func TestMinorityDown(t *testing.T) {
	t.Parallel()
	w := realWorld(t, 5)
	w.warmUp(t)
	w.servers[1].Kill()
	w.servers[3].Kill()
	for range 20 {
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil))
		if got := lock.Nodes(); got != 3 {
			t.Fatalf("got %d nodes, want 3", got)
		}
		noError(t, lock.Refresh(bounded(t), long))
		_, err := lock.TTL(bounded(t))
		noError(t, err)
		noError(t, lock.Release(bounded(t)))
	}
	w.servers[1].Restart()
	w.servers[3].Restart()
	w.wantBack(t)
}

// wantBack waits until locks have all nodes again.
func (w *world) wantBack(t *testing.T) {
	t.Helper()
	eventually(t, "all nodes are back", func() bool {
		lock, err := w.client.Obtain(bounded(t), []string{"back"}, long, nil)
		if err != nil {
			return false
		}
		defer w.wantHolders(t, "back", 0)
		defer lock.Release(bounded(t))
		for end := time.Now().Add(time.Second); lock.Nodes() < len(w.nodes) && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // for those who are late
		}
		return lock.Nodes() == len(w.nodes)
	})
}

func TestMinorityHangs(t *testing.T) {
	t.Parallel()
	w := realWorld(t, 5)
	w.hurry(t, patience)
	w.servers[0].Pause()
	w.servers[4].Pause()
	for range 20 {
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, &redislock.Options{Watchdog: true}))
		noError(t, lock.Refresh(bounded(t), long))
		_, err := lock.TTL(bounded(t))
		noError(t, err)
		noError(t, lock.Release(bounded(t)))
	}
	w.servers[0].Resume()
	w.servers[4].Resume()
	w.wantBack(t)
	w.wantHolders(t, "k", 0)
}

// A node that has not answered once is not waited for again, and what does not depend on it is not
// even kept waiting then.
func TestSuspicion(t *testing.T) {
	farBubble(t, 5, 2, func(t *testing.T, w *world, d *distance) {
		d.set(time.Hour)
		others := w.block(t, "k", 10*time.Hour, 0)
		before := d.sent.Load()

		// Two have granted it, one has refused, two could make it three.
		_, err := w.client.Obtain(bounded(t), []string{"k"}, long, nil)
		wantOnly(t, err, redislock.ErrUnknownOutcome)
		for range 50 {
			// They are not asked, so there is nothing that is not known.
			atOnce(t, "Obtain of what is held", func() {
				_, err = w.client.Obtain(bounded(t), []string{"k"}, long, nil)
				wantOnly(t, err, redislock.ErrNotObtained)
			})
			atOnce(t, "a lock", func() {
				lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"l"}, long, nil))
				noError(t, lock.Refresh(bounded(t), long))
				noError(t, lock.Release(bounded(t)))
			})
		}
		if n := d.sent.Load() - before; n > 50 {
			t.Errorf("%d commands are waiting at two nodes", n)
		}
		d.set(0)
		time.Sleep(2 * time.Hour) // what is under way arrives
		w.wantBack(t)
		w.wantHolders(t, "k", 1)
		w.wantHolders(t, "l", 0)
		noError(t, others[0].Release(bounded(t)))
	})
}

// A node that answers, but always too late, is no reason to wait again and again.
func TestSlowNode(t *testing.T) {
	farBubble(t, 3, 1, func(t *testing.T, w *world, d *distance) {
		others := w.block(t, "k", time.Hour, 0)
		d.set(1500 * time.Millisecond) // and the node time-out is a second
		_, err := w.client.Obtain(bounded(t), []string{"k"}, long, nil)
		wantOnly(t, err, redislock.ErrUnknownOutcome)
		for range 1000 { // several answers come in that time
			atOnce(t, "Obtain", func() {
				_, err := w.client.Obtain(bounded(t), []string{"k"}, long, nil)
				wantOnly(t, err, redislock.ErrNotObtained)
			})
			time.Sleep(10 * time.Millisecond)
		}
		d.set(0)
		w.wantBack(t)
		w.wantHolders(t, "k", 1)
		noError(t, others[0].Release(bounded(t)))
	})
}

func TestMajorityDown(t *testing.T) {
	t.Parallel()
	w := realWorld(t, 5)
	w.warmUp(t)
	for _, i := range []int{0, 2, 4} {
		w.servers[i].Kill()
	}
	for range 3 {
		_, err := w.client.Obtain(bounded(t), []string{"k"}, long, nil)
		if err == nil {
			t.Fatal("it was obtained")
		}
		w.wantHolders(t, "k", 0)
	}
	_, err := w.client.Obtain(bounded(t), []string{"k"}, long, nil)
	var dial *net.OpError
	if !errors.As(err, &dial) || errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrUnknownOutcome) {
		t.Errorf("got error %v, want that of the connections", err)
	}
	w.servers[2].Restart()
	eventually(t, "a majority is enough", func() bool {
		lock, err := w.client.Obtain(bounded(t), []string{"k"}, long, nil)
		return err == nil && lock.Release(bounded(t)) == nil
	})
}

func TestMajorityHangs(t *testing.T) {
	t.Parallel()
	w := realWorld(t, 5)
	w.hurry(t, patience)
	for _, i := range []int{0, 2, 4} {
		w.servers[i].Pause()
	}
	_, err := w.client.Obtain(bounded(t), []string{"k"}, long, nil)
	wantOnly(t, err, redislock.ErrUnknownOutcome)
	w.wantHoldersOf(t, "k", 0, 1, 3)
	for range 3 {
		if _, err = w.client.Obtain(bounded(t), []string{"k"}, long, nil); err == nil {
			t.Fatal("it was obtained")
		}
		w.wantHoldersOf(t, "k", 0, 1, 3)
	}
	for _, i := range []int{0, 2, 4} {
		w.servers[i].Resume()
	}
	w.wantBack(t)
	w.wantHolders(t, "k", 0)
}

// wantHoldersOf looks at some servers only. What they release may go on in the background, if the machine is busy.
func (w *world) wantHoldersOf(t *testing.T, key string, n int, at ...int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d of the servers hold %s", n, key), func() bool {
		got := 0
		for _, i := range at {
			got += int(must[int64](t)(w.rdbs[i].Exists(t.Context(), key).Result()))
		}
		return got == n
	})
}

func TestLateAnswers(t *testing.T) {
	t.Parallel()
	t.Run("after success", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 5, quorum.WithNodeTimeout(long))
		w.warmUp(t)
		w.hold(3, 4)
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil))
		if got := lock.Nodes(); got != 3 {
			t.Errorf("got %d nodes, want 3", got)
		}
		w.release(3, 4)
		wantNodes(t, lock, 5)
		noError(t, lock.Release(bounded(t)))
		w.wantHolders(t, "k", 0)
	})

	t.Run("after the release, which does not wait for them", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 5, quorum.WithNodeTimeout(long))
		w.warmUp(t)
		w.hold(3, 4)
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil))
		noError(t, lock.Release(bounded(t)))
		if a, b := w.count("obtained", 3), w.count("obtained", 4); a != 1 || b != 1 {
			t.Errorf("got %d and %d grants of two nodes that cannot answer", a, b)
		}
		w.release(3, 4)
		eventually(t, "what was granted late is given back", func() bool {
			return w.count("released", 3) == 2 && w.count("released", 4) == 2
		})
		w.wantHolders(t, "k", 0)
	})

	t.Run("after failure", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 5)
		w.hurry(t, short)
		w.block(t, "k", long, 0, 1)
		w.hold(3, 4)
		_, err := w.client.Obtain(bounded(t), []string{"k"}, long, nil)
		wantOnly(t, err, redislock.ErrUnknownOutcome)
		w.wantHolders(t, "k", 2)
		w.release(3, 4)
		w.wantBack(t)
		w.wantHolders(t, "k", 2)
	})

	t.Run("that never come", func(t *testing.T) {
		t.Parallel()
		w := relayedWorld(t, 5)
		w.hurry(t, short)
		w.block(t, "k", long, 0, 1)
		w.relays[3].DropReplies(true)
		w.relays[4].DropReplies(true)
		_, err := w.client.Obtain(bounded(t), []string{"k"}, long, nil)
		wantOnly(t, err, redislock.ErrUnknownOutcome)
		w.relays[3].DropReplies(false)
		w.relays[4].DropReplies(false)
		w.wantHolders(t, "k", 2)
	})
}
