package quorum_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// byDefault is a Client without a node time-out of its own: it follows from the ttl.
func (w *world) byDefault(t *testing.T) *quorum.Client {
	t.Helper()
	client := must[*quorum.Client](t)(quorum.New(w.nodes))
	closeAtEnd(t, client.Close)
	return client
}

// far is a hook that delays answers by so long.
func far(away *atomic.Int64) check.Around {
	return check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		err := send(cmds)
		time.Sleep(time.Duration(away.Load()))
		return err
	}}
}

// A node that is too slow for a short lease is good enough for a long one.
func TestShortLeaseHarmsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		var away atomic.Int64
		for i := range 3 {
			mini := redistest.PipeMini(t)
			rdb := mini.Client(t, impatient)
			rdb.AddHook(far(&away))
			w.rdbs, w.nodes = append(w.rdbs, mini.Client(t)), append(w.nodes, w.newNode(t, i, rdb))
		}
		w.client = w.newClient(t)
		w.warmUp(t)
		client := w.byDefault(t)
		away.Store(int64(30 * time.Millisecond))
		for range 5 {
			_, err := client.Obtain(bounded(t), []string{"short"}, 40*time.Millisecond, nil)
			if err == nil {
				t.Error("a lease of 40 ms was obtained over a link of 30 ms with a node time-out of 10 ms")
			}
			lock := must[*quorum.Lock](t)(client.Obtain(bounded(t), []string{"long"}, long, nil))
			noError(t, lock.Release(bounded(t)))
		}
	})
}

// A node that waits for replicas in vain can still say so.
func TestReplicasAreToldOf(t *testing.T) {
	t.Parallel()
	w := realWorld(t, 3) // without replicas
	w.warmUp(t)
	w.nodes = w.newNodes(t, redislock.WithReplicas(1))
	_, err := w.byDefault(t).Obtain(bounded(t), []string{"k"}, long, nil)
	wantIs(t, err, redislock.ErrNotObtained)
	wantIs(t, err, redislock.ErrNotReplicated)
	w.wantHolders(t, "k", 0)
}

// A node that was down is waited for if it is needed.
func TestNodeThatIsBackIsNeeded(t *testing.T) {
	t.Parallel()
	w := realWorld(t, 3)
	w.warmUp(t)
	w.servers[2].Kill()
	noError(t, must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil)).Release(bounded(t)))
	eventually(t, "it is seen to be down", func() bool { return w.count("refused", 2) > 0 })
	w.servers[2].Restart()
	w.block(t, "k", long, 0)
	lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil))
	wantNodes(t, lock, 2)
	noError(t, lock.Release(bounded(t)))
}

// A node that refuses everybody for a while is obtained again afterwards.
func TestRegainAfterRefusal(t *testing.T) {
	t.Parallel()
	w := realWorld(t, 3)
	w.warmUp(t)
	lock := w.obtain(t, 4*brisk, &redislock.Options{Watchdog: true})
	noError(t, w.rdbs[2].ConfigSet(t.Context(), "maxmemory", "1").Err())
	w.steal(t, 2)
	wantNodes(t, lock, 2)
	eventually(t, "it is refused", func() bool { return w.count("refused", 2) > 0 })
	noError(t, w.rdbs[2].ConfigSet(t.Context(), "maxmemory", "0").Err())
	wantNodes(t, lock, 3)
	noError(t, lock.Release(bounded(t)))
}

// A shorter lease has nodes asked sooner.
func TestRegainAfterShorterRefresh(t *testing.T) {
	bubble(t, 3, func(t *testing.T, w *world) {
		others := w.block(t, "k", long, 2)
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, time.Hour, &redislock.Options{Watchdog: true}))
		w.settled(t)
		noError(t, lock.Refresh(bounded(t), brisk))
		noError(t, others[0].Release(bounded(t)))
		wantNodes(t, lock, 3)
		noError(t, lock.Release(bounded(t)))
	})
}

// After a Close nobody asks for a missing node any more, although the lock is held.
func TestNoRegainAfterClose(t *testing.T) {
	bubble(t, 3, func(t *testing.T, w *world) {
		w.block(t, "k", long, 2)
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, time.Minute, &redislock.Options{Watchdog: true}))
		w.settled(t)
		before := w.count("refused", 2)
		w.client.Close()
		time.Sleep(time.Minute / 2)
		if got := w.count("refused", 2); got != before {
			t.Errorf("the node was asked %d times after the Close", got-before)
		}
		noError(t, lock.Release(bounded(t)))
	})
}

// A node that was asked before a Refresh, and answers after it, has the new lease.
func TestRegainDuringRefresh(t *testing.T) {
	t.Parallel()
	w := relayedBy(t, 3, neverGivesUp, quorum.WithNodeTimeout(long))
	w.warmUp(t)
	others := w.block(t, "k", long, 2)
	lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, 3*brisk, &redislock.Options{Watchdog: true}))
	eventually(t, "it is refused", func() bool { return w.count("refused", 2) > 0 })
	asked := make(chan struct{}, 100)
	w.relays[2].OnRequest(func(string, []string) { asked <- struct{}{} })
	w.hold(2)
	wantAsked(t, asked) // it has as long for its answer as the lease is
	noError(t, others[0].Release(bounded(t)))
	noError(t, lock.Refresh(bounded(t), long))
	w.relays[2].OnRequest(nil)
	w.release(2)
	eventually(t, "it has the new lease", func() bool {
		return must[time.Duration](t)(w.rdbs[2].PTTL(t.Context(), "k").Result()) > long/2
	})
	noError(t, lock.Release(bounded(t)))
}

// If every node refuses, the outcome is known.
func TestRefreshRefused(t *testing.T) {
	t.Parallel()
	w := &world{}
	var minis []*redistest.Mini
	for range 3 {
		minis = append(minis, redistest.StartMini(t))
		w.add(t, minis[len(minis)-1])
	}
	w.client = w.newClient(t)
	lock := w.obtain(t, long, nil)
	for _, mini := range minis {
		mini.Miniredis().SetError("NOPERM no")
	}
	for what, err := range map[string]error{"refresh": lock.Refresh(bounded(t), long), "release": lock.Release(bounded(t))} {
		var answer redis.Error
		if errors.Is(err, redislock.ErrUnknownOutcome) || !errors.As(err, &answer) {
			t.Errorf("%s: got error %v, want that of the nodes", what, err)
		}
	}
	for _, mini := range minis {
		mini.Miniredis().SetError("")
	}
}

// A Refresh that is refused says why. It does not name the holder at a node that was only asked to join in, and where
// another caller has the lock.
func TestRefreshRefusedBesideConflict(t *testing.T) {
	t.Parallel()
	w := &world{}
	var minis []*redistest.Mini
	for range 3 {
		minis = append(minis, redistest.StartMini(t))
		w.add(t, minis[len(minis)-1])
	}
	w.client = w.newClient(t)
	w.block(t, "k", long, 2)
	lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, nil))
	w.settled(t)
	minis[1].Miniredis().SetError("NOPERM no")
	err := lock.Refresh(bounded(t), long)
	minis[1].Miniredis().SetError("")
	var answer redis.Error
	if !errors.As(err, &answer) || errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrLockNotHeld) {
		t.Errorf("got error %v, want that of node 1 alone", err)
	}
	noError(t, lock.Release(bounded(t)))
}

// Every Close waits, not only the first one.
func TestCloseTwice(t *testing.T) {
	t.Parallel()
	w := relayedWorld(t, 3)
	w.warmUp(t)
	client := must[*quorum.Client](t)(quorum.New(w.nodes, quorum.WithNodeTimeout(long)))
	w.hold(0, 1, 2)
	asked := make(chan struct{}, 100)
	w.relays[0].OnRequest(func(string, []string) { asked <- struct{}{} })
	asking := over(func() { _, _ = client.Obtain(bounded(t), []string{"k"}, long, nil) })
	wantAsked(t, asked)
	closed := make(chan struct{}, 2)
	for range cap(closed) {
		go func() {
			client.Close()
			closed <- struct{}{}
		}()
	}
	select {
	case <-closed:
		t.Error("a Close has returned while an Obtain is under way")
	case <-time.After(200 * time.Millisecond):
	}
	w.release(0, 1, 2)
	receive(t, closed, "the end of a Close")
	receive(t, closed, "the end of the other Close")
	receive(t, asking, "the end of the Obtain")
}
