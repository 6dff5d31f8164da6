package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/quorum"
)

// A window is for how long one holder could count on the lock.
type window struct {
	from, till time.Time
	fence      int64
}

// Five clients, five servers of which a minority is stopped, killed and started anew all the time,
// and contexts that end at any moment: never do two count on the lock at a time.
func TestHammer(t *testing.T) {
	t.Parallel()
	const ttl = 4 * time.Second
	hurry := quorum.WithNodeTimeout(600 * time.Millisecond)
	w := realWorld(t, 5, hurry)
	stop := make(chan struct{})
	var all sync.WaitGroup
	var pauses, restarts atomic.Int64
	all.Go(func() { w.faults(stop, ttl, &pauses, &restarts) })

	var mu sync.Mutex
	var windows []window
	for id := range 5 {
		client := w.newClient(t, hurry)
		opt := &redislock.Options{
			Watchdog: true, Fenced: true, Metadata: fmt.Sprint(id),
			RetryStrategy: redislock.ExponentialBackoff(5*time.Millisecond, 100*time.Millisecond),
		}
		all.Go(func() {
			most := 1500 * time.Millisecond
			for !closed(stop) {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(most))
				lock, err := client.Obtain(ctx, []string{"k"}, ttl, opt)
				if err == nil {
					seen := use(lock)
					_ = lock.Release(ctx)
					mu.Lock()
					windows = append(windows, seen)
					mu.Unlock()
				}
				if errors.Is(err, context.DeadlineExceeded) {
					most += most / 20 // the machine may be busy
				}
				cancel()
			}
		})
	}
	defer func() {
		close(stop)
		waitAll(t, &all)
		w.wantHolders(t, "k", 0)
		disjoint(t, windows)
	}()
	check.Eventually(t, 3*time.Minute, "work and faults", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(windows) >= 100 && pauses.Load() >= 15 && restarts.Load() >= 2
	})
}

func closed(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// use holds the lock for a while, and returns when it was certain to be held.
func use(lock *quorum.Lock) window {
	from := time.Now()
	select {
	case <-lock.Lost():
	case <-time.After(time.Duration(rand.IntN(20)) * time.Millisecond):
	}
	till := time.Now()
	if deadline := lock.Deadline(); deadline.Before(till) {
		till = deadline
	}
	if closed(lock.Lost()) {
		till = from // it may have been lost at any moment since
	}
	return window{from, till, lock.Fence()}
}

// disjoint checks that windows do not overlap, and that the numbers grow.
func disjoint(t *testing.T, windows []window) {
	t.Helper()
	slices.SortFunc(windows, func(a, b window) int { return a.from.Compare(b.from) })
	for i, next := range windows {
		if i == 0 {
			continue
		}
		before := windows[i-1]
		if next.from.Before(before.till) {
			t.Errorf("two windows overlap by %v", before.till.Sub(next.from))
		}
		if next.fence <= before.fence {
			t.Errorf("got number %d after %d", next.fence, before.fence)
		}
	}
}

// faults stops, kills and restarts servers, at any time two of them at most. A server that was killed has forgotten its
// locks, so it comes back only when their leases are over.
func (w *world) faults(stop <-chan struct{}, ttl time.Duration, pauses, restarts *atomic.Int64) {
	w.servers[4].Kill()
	killed := time.Now()
	for !closed(stop) {
		time.Sleep(rand.N(100 * time.Millisecond))
		i := rand.IntN(4)
		w.servers[i].Pause()
		time.Sleep(rand.N(800 * time.Millisecond))
		w.servers[i].Resume()
		pauses.Add(1)
		if time.Since(killed) > ttl {
			w.servers[4].Restart()
			restarts.Add(1)
			time.Sleep(rand.N(800 * time.Millisecond))
			if closed(stop) {
				return
			}
			w.servers[4].Kill()
			killed = time.Now()
		}
	}
	w.servers[4].Restart()
}
