package contract

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/check"
)

// release checks how a lock ends.
func release(t *testing.T, m Maker) {
	t.Helper()
	m.in(t, "once", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, nil)
		held, lost := lock.Context(t.Context()), lock.Lost()
		check.NoError(t, lock.Release(t.Context()))
		r.wantFree(t)
		wantReleased(t, lock, held)
		other := r.obtain(t, long, nil) // the former holder must not touch it
		for range 2 {
			wantOver(t, lock)
		}
		r.wantHeld(t)
		check.NoError(t, other.Release(t.Context()))
		time.Sleep(2 * long)
		wantReleased(t, lock, held)
		if isClosed(lost) {
			t.Error("a release counts as a loss")
		}
	})
	m.in(t, "by several at once", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, nil)
		var all sync.WaitGroup
		errs := make(chan error, 8)
		for range cap(errs) {
			all.Go(func() { errs <- lock.Release(t.Context()) })
		}
		all.Wait()
		close(errs)
		var done int
		for err := range errs {
			if err == nil {
				done++
			} else if !errors.Is(err, redislock.ErrLockNotHeld) {
				t.Errorf("got error %v", err)
			}
		}
		if done == 0 {
			t.Error("nobody has released it")
		}
		r.wantFree(t)
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
	})
	m.in(t, "on a context that has ended", func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, opt := range []*redislock.Options{nil, watched} {
			lock := r.obtain(t, long, opt)
			check.NoError(t, lock.Release(ctx))
			r.wantFree(t)
			check.Is(t, lock.Release(ctx), redislock.ErrLockNotHeld)
		}
	})
	m.in(t, "frees what is left of a lock that was lost", func(t *testing.T, r *rig) {
		for _, key := range r.keys {
			lock := r.obtain(t, long, nil)
			r.Lose(t, key)
			wantOver(t, lock)
			r.wantFree(t)
		}
	})
	m.in(t, "does not touch what somebody else has since", func(t *testing.T, r *rig) {
		for _, known := range []bool{false, true} {
			lock := r.obtain(t, long, nil)
			for _, key := range r.keys {
				r.Lose(t, key)
			}
			other := r.obtain(t, long, nil)
			if known {
				check.Is(t, lock.Refresh(t.Context(), 2*long), redislock.ErrLockNotHeld)
			}
			check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
			r.wantHeld(t)
			check.NoError(t, other.Release(t.Context()))
		}
	})
}

// refresh checks how the lease of a lock is changed.
func refresh(t *testing.T, m Maker) {
	t.Helper()
	m.in(t, "the lease ends when it says", func(t *testing.T, r *rig) {
		for _, opt := range []*redislock.Options{nil, watched} {
			lock := r.obtain(t, long, opt)
			ttls := []time.Duration{10 * long, long / 2, 5 * long}
			if m.NeverShortens.holds() {
				ttls = []time.Duration{10 * long, 20 * long}
				deadline := lock.Deadline()
				check.NoError(t, lock.Refresh(t.Context(), long/2))
				if got := lock.Deadline(); !got.Equal(deadline) {
					t.Errorf("got deadline %v, want %v as before: %s", got, deadline, m.NeverShortens)
				}
			}
			for _, ttl := range ttls {
				check.NoError(t, lock.Refresh(t.Context(), ttl))
				r.wantLease(t, lock, ttl)
			}
			check.NoError(t, lock.Release(t.Context()))
		}
	})
	m.in(t, "a ttl that cannot be is refused, and nothing changes", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, nil)
		for _, bad := range []time.Duration{0, -1, time.Millisecond - 1, longest + 1} {
			check.Is(t, lock.Refresh(t.Context(), bad), &redislock.InvalidError{Argument: "ttl"})
			_, err := r.try(t.Context(), bad, nil)
			check.Is(t, err, &redislock.InvalidError{Argument: "ttl"})
		}
		r.story.want(t, "obtained")
		r.wantLease(t, lock, long)
		check.NoError(t, lock.Release(t.Context()))
	})
	m.in(t, "on a context that has ended", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errOwn)
		check.Is(t, lock.Refresh(ctx, 2*long), errOwn)
		r.wantHeld(t)
		check.NoError(t, lock.Refresh(t.Context(), 3*long))
		r.wantLease(t, lock, 3*long)
		check.NoError(t, lock.Release(t.Context()))
	})
}

// wantLease checks for how long a lock is held, in every answer.
func (r *rig) wantLease(t *testing.T, lock held.Lock, ttl time.Duration) {
	t.Helper()
	for _, key := range r.keys {
		for _, holder := range r.holders(t, key) {
			if !about(holder.TTL, ttl) {
				t.Errorf("%q is held for %v, want %v", key, holder.TTL, ttl)
			}
		}
	}
	if got := check.Must[time.Duration](t)(lock.TTL(t.Context())); !about(got, ttl) {
		t.Errorf("got ttl %v, want %v", got, ttl)
	}
	if left := time.Until(lock.Deadline()); left > ttl-ttl/100 || left < ttl-ttl/100-10*time.Millisecond {
		t.Errorf("the lock is certain for %v, want that for a ttl of %v", left, ttl)
	}
}
