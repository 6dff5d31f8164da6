package quorum_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/quorum"
)

// forgetful has a lock at the nodes 0 and 1 of three, and restarts node 1.
func forgetful(t *testing.T, w *world, ttl time.Duration) *quorum.Lock {
	t.Helper()
	other := w.block(t, "k", long, 2)
	retry := &redislock.Options{RetryStrategy: redislock.LinearBackoff(50 * time.Millisecond)}
	lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, ttl, retry))
	w.settled(t)
	wantNodes(t, lock, 2)
	noError(t, other[0].Release(bounded(t)))
	w.servers[1].Restart()
	return lock
}

// A node that has forgotten its locks makes a second holder. This is what happens, and what the
// documentation says.
func TestRestartEmpty(t *testing.T) {
	t.Parallel()
	w := realWorld(t, 3)
	lock := forgetful(t, w, long)
	again := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond),
	}))
	if !time.Now().Before(lock.Deadline()) || !time.Now().Before(again.Deadline()) {
		t.Error("there are no two holders: the documentation says too much")
	}
	noError(t, again.Release(bounded(t)))
	_ = lock.Release(bounded(t))
}

func TestPersistence(t *testing.T) {
	t.Parallel()
	w := &world{}
	for range 3 {
		w.servers = append(w.servers, redistest.Start(t, redistest.Redis, "--appendonly", "yes", "--appendfsync", "always"))
		w.add(t, w.servers[len(w.servers)-1])
	}
	w.client = w.newClient(t)
	lock := forgetful(t, w, long)
	eventually(t, "all three answer", func() bool {
		_, err := w.client.Obtain(bounded(t), []string{"k"}, long, nil)
		wantOnly(t, err, redislock.ErrNotObtained)
		return w.rdbs[1].Ping(t.Context()).Err() == nil
	})
	noError(t, lock.Release(bounded(t)))
}

// A node that has restarted grants nothing before the leases that it has forgotten are over.
func TestRestartWithMinUptime(t *testing.T) {
	t.Parallel()
	const longest = 10 * time.Second // a restart takes less, on a busy machine, too
	w := realWorld(t, 3)
	w.nodes = w.newNodes(t, redislock.WithMinUptime(longest))
	w.client = w.newClient(t)

	_, err := w.client.Obtain(bounded(t), []string{"k"}, longest+1, nil)
	wantOnly(t, err, &redislock.InvalidError{Argument: "ttl"})

	lock := forgetful(t, w, longest) // which waits until all three have been up for that long
	wantOnly(t, lock.Refresh(bounded(t), longest+1), &redislock.InvalidError{Argument: "ttl"})
	var again *quorum.Lock
	restarted := false
	eventually(t, "it has been up for long enough", func() bool {
		again, err = w.client.Obtain(bounded(t), []string{"k"}, longest, nil)
		if err == nil {
			if at := time.Now(); at.Before(lock.Deadline()) {
				t.Errorf("there is a second holder %v before the first has ended", lock.Deadline().Sub(at))
			}
			return true
		}
		wantOnly(t, err, redislock.ErrNotObtained)
		restarted = restarted || strings.Contains(err.Error(), `nodes[1]: "k" is on a server that has restarted`)
		return false
	})
	if !restarted {
		t.Error("the restart was not noticed")
	}
	noError(t, again.Release(bounded(t)))
	wantOnly(t, lock.Release(bounded(t)), redislock.ErrLockNotHeld)
}

// A server clock that jumps ahead ends the leases there: two holders, but their numbers
// differ.
func TestClockJump(t *testing.T) {
	t.Parallel()
	w := &world{}
	var clock *redistest.Clock
	for i := range 3 {
		if i == 1 {
			server, c := redistest.StartSkewed(t, redistest.Redis)
			clock = c
			w.add(t, server)
			continue
		}
		w.add(t, redistest.Start(t, redistest.Redis))
	}
	w.client = w.newClient(t)
	other := w.block(t, "k", long, 2)
	lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, fenced))
	w.settled(t)
	noError(t, other[0].Release(bounded(t)))
	_, err := w.client.Obtain(bounded(t), []string{"k"}, long, fenced)
	wantOnly(t, err, redislock.ErrNotObtained)

	clock.Shift(time.Hour)
	again := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, fenced))
	if !time.Now().Before(lock.Deadline()) {
		t.Error("there are no two holders: the documentation says too much")
	}
	if again.Fence() <= lock.Fence() {
		t.Errorf("got number %d after %d", again.Fence(), lock.Fence())
	}
	noError(t, again.Release(bounded(t)))

	clock.Shift(-time.Hour)
	eventually(t, "the first is over", func() bool {
		_ = lock.Release(bounded(t))
		return w.holders(t, "k") == 0
	})
	third := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, fenced))
	if third.Fence() <= again.Fence() {
		t.Errorf("got number %d after %d", third.Fence(), again.Fence())
	}
	noError(t, third.Release(bounded(t)))
}
