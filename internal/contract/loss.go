package contract

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/check"
)

// loss checks how a lock ends if nobody releases it, and how it does not end.
func loss(t *testing.T, m Maker) {
	t.Helper()
	m.in(t, "the watchdog renews", func(t *testing.T, r *rig) {
		lock := r.obtain(t, short, watched)
		held := lock.Context(t.Context())
		for range 20 {
			time.Sleep(short)
			r.wantHeld(t)
			if left := time.Until(lock.Deadline()); left < short/2 {
				t.Errorf("the lock is certain for %v, want at least half of its ttl", left)
			}
		}
		check.NoError(t, held.Err())
		check.NoError(t, lock.Release(t.Context()))
		wantReleased(t, lock, held)
		time.Sleep(10 * short)
		r.wantFree(t)
	})
	for _, key := range []string{"a", "b", "c"} {
		m.in(t, "the key "+key+" is taken away", func(t *testing.T, r *rig) {
			lock := isLost(t, r, short/3+time.Second, func() { r.Lose(t, key) })
			wantOver(t, lock)
			r.wantFree(t)
		})
	}
	m.in(t, "something else stands under a key", func(t *testing.T, r *rig) {
		lock := isLost(t, r, short/3+time.Second, func() { r.overwrite(t, "b") })
		wantOver(t, lock)
		r.wantFree(t, "a", "c")
		for _, server := range r.Servers {
			if got := server.Get(t.Context(), "b").Val(); got != "another" {
				t.Errorf("got value %q of what is no lock", got)
			}
		}
		r.delete(t, "b")
	})
	for name, text := range map[string]string{
		"the servers fail for longer than the lease": "LOADING Redis is loading the dataset in memory",
		"the servers refuse for good":                "NOPERM this user has no permissions to run the 'evalsha' command",
	} {
		m.in(t, name, func(t *testing.T, r *rig) {
			lock := isLost(t, r, short, func() { r.Fail(text) })
			r.Fail("")
			check.Is(t, lock.Refresh(t.Context(), 2*long), redislock.ErrLockNotHeld)
			_ = lock.Release(t.Context()) // the keys may be there still
			wantLost(t, lock)
			r.wantFree(t)
		})
	}
	m.in(t, "the servers fail for less than the lease", func(t *testing.T, r *rig) {
		lock := r.obtain(t, short, watched)
		held := lock.Context(t.Context())
		for range 5 {
			r.Fail("LOADING Redis is loading the dataset in memory")
			time.Sleep(short / 2)
			r.Fail("")
			time.Sleep(short / 2)
		}
		check.NoError(t, held.Err())
		check.NoError(t, lock.Release(t.Context()))
	})
	unwatched(t, m)
}

// isLost has a lock be lost in some way. Everybody must be told, the hooks once, within this time and before the
// deadline.
func isLost(t *testing.T, r *rig, within time.Duration, ruin func()) held.Lock {
	t.Helper()
	lock := r.obtain(t, short, watched)
	held, lost := lock.Context(t.Context()), lock.Lost()
	time.Sleep(10 * short)
	r.story.forget()
	began := time.Now()
	ruin()
	<-held.Done()
	if took := time.Since(began); took > within {
		t.Errorf("it was told after %v, want it within %v", took, within)
	}
	if late := time.Since(lock.Deadline()); late > 0 {
		t.Errorf("it was told %v after the deadline", late)
	}
	<-lost
	wantLost(t, lock, held)
	if n := r.story.count("lost"); n != 1 {
		t.Errorf("the hooks were told of %d losses", n)
	}
	return lock
}

// unwatched checks locks without a watchdog.
func unwatched(t *testing.T, m Maker) {
	t.Helper()
	m.in(t, "without a watchdog it is over by its deadline", func(t *testing.T, r *rig) {
		lock := r.obtain(t, short, nil)
		held, lost := lock.Context(t.Context()), lock.Lost()
		wantEnd := func() {
			t.Helper()
			<-held.Done()
			if late := time.Since(lock.Deadline()); late > 0 || late < -200*time.Millisecond {
				t.Errorf("it was told %v after the deadline", late)
			}
		}
		time.Sleep(short - time.Second)
		check.NoError(t, lock.Refresh(t.Context(), 2*short)) // which moves the deadline
		time.Sleep(short)
		check.NoError(t, held.Err())
		wantEnd()
		<-lost
		wantLost(t, lock, held)
		time.Sleep(short)
		wantOver(t, lock)
		wantLost(t, lock, held)
		r.wantFree(t)
	})
	m.in(t, "whoever asks when it is over is told", func(t *testing.T, r *rig) {
		lock := r.obtain(t, short, nil)
		time.Sleep(2 * short)
		r.wantFree(t)
		<-lock.Lost()
		wantLost(t, lock)
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
	})
	m.in(t, "a Refresh that finds the loss tells everybody", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, nil)
		held, lost := lock.Context(context.Background()), lock.Lost()
		r.Lose(t, "b")
		check.Is(t, lock.Refresh(t.Context(), 2*long), redislock.ErrLockNotHeld)
		<-lost
		wantLost(t, lock, held)
		wantOver(t, lock)
		r.wantFree(t)
	})
}
