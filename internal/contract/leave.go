package contract

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/check"
)

// leave checks how a lock ends and keeps its keys taken.
func leave(t *testing.T, m Maker) {
	t.Helper()
	if m.NoLeave.holds() {
		m.in(t, "a lock has no Leave", func(t *testing.T, r *rig) {
			lock := r.obtain(t, long, nil)
			if _, ok := lock.(leaver); ok {
				t.Errorf("%T has one, although it was said: %s", lock, m.NoLeave)
			}
			check.NoError(t, lock.Release(t.Context()))
		})
		return
	}
	m.in(t, "nobody has the keys before the time is over", func(t *testing.T, r *rig) {
		lock := r.obtain(t, short, watched)
		held := lock.Context(t.Context())
		check.NoError(t, lock.(leaver).Leave(t.Context(), 10*time.Second))
		wantReleased(t, lock, held)
		e := r.story.want(t, "obtained released")[1]
		if !about(e.Kept, 10*time.Second) || !e.Ended || e.Err != nil {
			t.Errorf("got event %+v", e)
		}
		r.wantLeft(t, 10*time.Second)
		time.Sleep(4 * time.Second)
		r.wantLeft(t, 6*time.Second)
		wantOver(t, lock)
		check.Is(t, lock.(leaver).Leave(t.Context(), time.Hour), redislock.ErrLockNotHeld)
		r.wantFreeAfter(t, 6*time.Second)
	})
	m.in(t, "others read what was read", func(t *testing.T, r *rig) {
		check.NoError(t, r.obtain(t, long, nil).(leaver).Leave(t.Context(), 10*time.Second))
		reader := check.Must[held.Lock](t)(r.Locks.ObtainSet(t.Context(), redislock.Set{Read: r.keys[2:]}, long, nil))
		check.NoError(t, reader.Release(t.Context()))
		for _, key := range r.keys {
			_, err := r.Locks.ObtainSet(t.Context(), redislock.Set{Write: []string{key}}, long, nil)
			check.Is(t, err, redislock.ErrNotObtained)
		}
		r.wantLeft(t, 10*time.Second)
	})
	m.in(t, "what was lost is not left", func(t *testing.T, r *rig) {
		for _, known := range []bool{false, true} {
			lock := r.obtain(t, long, nil)
			for _, key := range r.keys {
				r.Lose(t, key)
			}
			if known {
				check.Is(t, lock.Refresh(t.Context(), 2*long), redislock.ErrLockNotHeld)
			}
			r.story.forget()
			check.Is(t, lock.(leaver).Leave(t.Context(), long), redislock.ErrLockNotHeld)
			if e := r.story.want(t, "released")[0]; e.Kept != 0 {
				t.Errorf("got event %+v, want nothing kept", e)
			}
			r.wantFree(t)
		}
	})
	m.in(t, "a time that cannot be is refused, and the lock stays", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, nil)
		check.Is(t, lock.(leaver).Leave(t.Context(), longest+1), &redislock.InvalidError{Argument: "ttl"})
		r.wantHeld(t)
		r.story.want(t, "obtained")
		check.NoError(t, lock.Release(t.Context()))
		r.wantFree(t)
	})
	m.in(t, "until a time that has passed it is a Release", func(t *testing.T, r *rig) {
		for _, past := range []time.Duration{0, -1, -time.Hour} {
			lock := r.obtain(t, long, watched)
			check.NoError(t, lock.(leaver).Leave(t.Context(), past))
			r.wantFree(t)
			check.Is(t, lock.(leaver).Leave(t.Context(), past), redislock.ErrLockNotHeld)
			r.wantFree(t)
		}
	})
}

// holdAtLeast checks what Options.HoldAtLeast does.
func holdAtLeast(t *testing.T, m Maker) {
	t.Helper()
	opt := &redislock.Options{HoldAtLeast: 10 * time.Second}
	m.in(t, "a Release before leaves the keys for the rest", func(t *testing.T, r *rig) {
		check.NoError(t, r.with(t, long, opt, func(context.Context) error {
			time.Sleep(4 * time.Second)
			return nil
		}))
		if e := r.story.want(t, "obtained released")[1]; !about(e.Kept, 6*time.Second) || !about(e.Held, 4*time.Second) || e.Err != nil {
			t.Errorf("got event %+v", e)
		}
		r.wantFreeAfter(t, 6*time.Second)
	})
	m.in(t, "a Release after it frees the keys", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, opt)
		time.Sleep(10 * time.Second)
		check.NoError(t, lock.Release(t.Context()))
		if e := r.story.want(t, "obtained released")[1]; e.Kept != 0 {
			t.Errorf("got event %+v", e)
		}
		r.wantFree(t)
	})
	m.in(t, "a second Release keeps nothing more", func(t *testing.T, r *rig) {
		lock := r.obtain(t, long, opt)
		check.NoError(t, lock.Release(t.Context()))
		time.Sleep(time.Second)
		check.Is(t, lock.Release(t.Context()), redislock.ErrLockNotHeld)
		r.wantLeft(t, 9*time.Second)
		events := r.story.all
		if kept := events[len(events)-2].Kept; kept != 0 && !m.Quiet.holds() {
			t.Errorf("the second one has kept the keys for %v", kept)
		}
	})
	m.in(t, "nothing is kept of a lock that nobody got", func(t *testing.T, r *rig) {
		release := r.block(t, "c")
		_, err := r.try(t.Context(), long, opt)
		check.Is(t, err, redislock.ErrNotObtained)
		release()
		r.wantFree(t)
	})
	m.in(t, "a time that cannot be is refused", func(t *testing.T, r *rig) {
		for _, bad := range []time.Duration{-1, time.Millisecond - 1, longest + 1} {
			_, err := r.try(t.Context(), long, &redislock.Options{HoldAtLeast: bad})
			if err == nil || errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("got error %v of the time %v", err, bad)
			}
		}
		r.story.want(t, "")
	})
	if m.NoLeave.holds() {
		return
	}
	m.in(t, "of it and of a Leave the later end counts", func(t *testing.T, r *rig) {
		for leave, want := range map[time.Duration]time.Duration{
			time.Second: 10 * time.Second, -time.Hour: 10 * time.Second, 20 * time.Second: 20 * time.Second,
		} {
			check.NoError(t, r.obtain(t, long, opt).(leaver).Leave(t.Context(), leave))
			r.wantLeft(t, want)
			time.Sleep(want)
		}
	})
}
