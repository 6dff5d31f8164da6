package contract

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// with checks what a With promises.
func with(t *testing.T, m Maker) {
	t.Helper()
	m.in(t, "the lock lasts for as long as fn runs", func(t *testing.T, r *rig) {
		check.NoError(t, r.with(t, short, nil, func(ctx context.Context) error {
			for range 10 {
				time.Sleep(short)
				r.wantHeld(t)
			}
			return ctx.Err()
		}))
		r.wantFree(t)
	})
	m.in(t, "the error of fn is returned as it is", func(t *testing.T, r *rig) {
		err := r.with(t, short, nil, func(context.Context) error { return errOwn })
		if err != errOwn { //nolint:errorlint // it is this value
			t.Errorf("got error %v", err)
		}
		r.wantFree(t)
	})
	m.in(t, "a panic of fn releases", func(t *testing.T, r *rig) {
		defer func() {
			if got := recover(); got != "own" {
				t.Errorf("recovered %v, want what fn has panicked with", got)
			}
			r.wantFree(t)
		}()
		_ = r.with(t, short, nil, func(context.Context) error { panic("own") })
	})
	m.in(t, "fn does not run if somebody else has a key", func(t *testing.T, r *rig) {
		release := r.block(t, "b")
		err := r.with(t, short, nil, func(context.Context) error {
			t.Error("fn has run")
			return nil
		})
		check.Is(t, err, redislock.ErrNotObtained)
		wantNot(t, err, redislock.ErrLockLost, redislock.ErrLockNotHeld)
		if conflict, ok := errors.AsType[*redislock.ConflictError](err); !ok || conflict.Key != "b" || conflict.Metadata != "other" {
			t.Errorf("got error %v, want a conflict on b", err)
		}
		release()
		r.wantFree(t)
	})
	m.in(t, "ctx ends while fn runs", func(t *testing.T, r *rig) {
		ctx, cancel := context.WithCancelCause(t.Context())
		err := r.Locks.WithSet(ctx, r.set(), short, nil, func(ctx context.Context) error {
			cancel(errOwn)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		check.Is(t, err, errOwn)
		wantNot(t, err, redislock.ErrLockLost)
		r.wantFree(t)
	})
	lostUnderFn(t, m)
	endedByFn(t, m)
}

// lostUnderFn checks a lock that is lost while fn runs.
func lostUnderFn(t *testing.T, m Maker) {
	t.Helper()
	m.in(t, "a loss ends the context of fn, and is an error", func(t *testing.T, r *rig) {
		err := r.with(t, short, nil, func(ctx context.Context) error {
			r.Lose(t, "b")
			<-ctx.Done()
			check.Is(t, context.Cause(ctx), redislock.ErrLockLost)
			return errOwn
		})
		check.Is(t, err, redislock.ErrLockLost, errOwn)
		r.wantFree(t)
	})
	m.in(t, "a loss that fn is not told of is an error", func(t *testing.T, r *rig) {
		err := r.with(t, time.Hour, nil, func(context.Context) error {
			r.Lose(t, "b")
			return nil
		})
		check.Is(t, err, redislock.ErrLockLost, redislock.ErrLockNotHeld)
		r.wantFree(t)
	})
	m.in(t, "a loss is an error also if fn has released the lock", func(t *testing.T, r *rig) {
		err := r.with(t, time.Hour, nil, func(ctx context.Context) error {
			r.Lose(t, "b")
			check.Is(t, r.found(t, ctx).Release(ctx), redislock.ErrLockNotHeld)
			return nil
		})
		check.Is(t, err, redislock.ErrLockLost)
		r.wantFree(t)
		err = r.with(t, time.Hour, nil, func(ctx context.Context) error {
			r.Lose(t, "b")
			lock := r.found(t, ctx)
			check.Is(t, lock.Refresh(ctx, 2*time.Hour), redislock.ErrLockNotHeld)
			_ = lock.Release(ctx) // the lock is known to be lost
			return nil
		})
		check.Is(t, err, redislock.ErrLockLost)
		r.wantFree(t)
	})
}

// endedByFn checks a lock that fn ends itself.
func endedByFn(t *testing.T, m Maker) {
	t.Helper()
	m.in(t, "fn may release the lock", func(t *testing.T, r *rig) {
		check.NoError(t, r.with(t, short, nil, func(ctx context.Context) error {
			defer r.wantFree(t)
			return r.found(t, ctx).Release(ctx)
		}))
		r.story.want(t, "obtained released")
	})
	if m.NoLeave.holds() {
		return
	}
	m.in(t, "fn may leave the lock", func(t *testing.T, r *rig) {
		check.NoError(t, r.with(t, short, nil, func(ctx context.Context) error {
			return r.found(t, ctx).(leaver).Leave(ctx, long)
		}))
		r.story.want(t, "obtained released")
		r.wantLeft(t, long)
	})
}
