package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// isExtension is a request for a new lease, whoever asks for it.
func isExtension(run check.Run) bool { return run.Of("refresh") }

// abandon begins a Refresh that is executed, and whose caller leaves before the answer comes.
func abandon(t *testing.T, g *gate, lock *redislock.Lock, ttl time.Duration) *kept {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	refresh := g.keep(isExtension, true)
	done := make(chan error, 1)
	go func() { done <- lock.Refresh(ctx, ttl) }()
	<-refresh.there
	cancel()
	check.Is(t, <-done, redislock.ErrUnknownOutcome)
	return refresh
}

// A Refresh whose caller has left counts from when its answer comes, unless another one has begun meanwhile: then only that
// counts. Either way the next Refresh has its turn.
func TestAbandonedRefresh(t *testing.T) {
	const ttl, first, second = time.Minute, time.Hour, 2 * time.Hour
	wantLeft := func(t *testing.T, lock *redislock.Lock, ttl time.Duration, when string) {
		t.Helper()
		if left := time.Until(lock.Deadline()); left > ttl || left < ttl*9/10 {
			t.Errorf("got deadline in %v %s, want about %v", left, when, ttl)
		}
	}
	for name, another := range map[string]bool{"nothing else is asked": false, "another is under way": true} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
				g, client := newGate(t, mini)
				defer client.Close()
				lock, err := client.Obtain(t.Context(), []string{"a"}, ttl, nil)
				check.NoError(t, err)
				check.NoError(t, lock.Refresh(t.Context(), ttl)) // now the server knows the script
				late := abandon(t, g, lock, first)
				wantLeft(t, lock, ttl, "before the answer")
				if another {
					next, done := g.keep(isExtension, true), make(chan error, 1)
					go func() { done <- lock.Refresh(t.Context(), second) }()
					<-next.there
					late.lets()
					wantLeft(t, lock, ttl, "while another is under way")
					next.lets()
					check.NoError(t, <-done)
					wantLeft(t, lock, second, "after the other one")
				} else {
					late.lets()
					wantLeft(t, lock, first, "after the answer")
				}
				check.NoError(t, lock.Refresh(t.Context(), ttl))
				wantLeft(t, lock, ttl, "after the last one")
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}

// A Refresh that is answered when nothing of the new lease is left has lost the lock: its error says so, and nothing else is
// asked for.
func TestRefreshAnsweredTooLate(t *testing.T) {
	world.Bubble(t, func(t *testing.T, _ *world.World, mini *redistest.Mini, _ *world.Journal) {
		g, client := newGate(t, mini)
		defer client.Close()
		lock, err := client.Obtain(t.Context(), []string{"a"}, time.Minute, nil)
		check.NoError(t, err)
		check.NoError(t, lock.Refresh(t.Context(), time.Minute)) // now the server knows the script
		refresh, done := g.keep(isExtension, true), make(chan error, 1)
		go func() { done <- lock.Refresh(t.Context(), time.Second) }()
		<-refresh.there
		time.Sleep(2 * time.Second)
		refresh.lets()
		const want = `redislock: refresh "a": lock not held: the answer came after the new lease had ended`
		if err := <-done; err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
		asked := check.Count(g.rdb, "eval")
		check.Is(t, lock.Refresh(t.Context(), time.Minute), redislock.ErrLockNotHeld)
		if n := asked.Load(); n != 0 {
			t.Errorf("%d requests were sent for a lock that was lost", n)
		}
	})
}
