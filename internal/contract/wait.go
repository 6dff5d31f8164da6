package contract

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

const (
	mostWait = 5 * time.Second
	longest  = 365 * 24 * time.Hour // of all times
)

// wait checks how long an Obtain waits.
func wait(t *testing.T, m Maker) {
	t.Helper()
	for _, held := range []string{"a", "b", "c"} {
		m.in(t, "Wait is over while somebody has the key "+held, func(t *testing.T, r *rig) {
			for name, opt := range r.waits() {
				release := r.block(t, held)
				opt.Wait = mostWait
				began := time.Now()
				_, err := r.try(t.Context(), long, &opt)
				if took := time.Since(began); took < mostWait || took > mostWait+200*time.Millisecond {
					t.Errorf("%s: it took %v, want %v", name, took, mostWait)
				}
				wantWaitOver(t, err, held)
				release()
				r.wantFree(t)
			}
		})
	}
	m.in(t, "Wait bounds no work", func(t *testing.T, r *rig) {
		for _, opt := range r.waits() {
			time.AfterFunc(mostWait/2, r.block(t, "b"))
			opt.Wait = mostWait
			check.NoError(t, r.with(t, short, &opt, func(ctx context.Context) error {
				time.Sleep(5 * mostWait)
				r.wantHeld(t)
				return ctx.Err()
			}))
			r.wantFree(t)
		}
	})
	m.in(t, "one attempt is made however short Wait is", func(t *testing.T, r *rig) {
		for _, opt := range r.waits() {
			opt.Wait = time.Microsecond
			check.NoError(t, r.obtain(t, long, &opt).Release(t.Context()))
			release := r.block(t, "b")
			_, err := r.try(t.Context(), long, &opt)
			wantWaitOver(t, err, "b")
			release()
			r.wantFree(t)
		}
	})
	m.in(t, "a context that ends before is no end of Wait", func(t *testing.T, r *rig) {
		for name, opt := range r.waits() {
			release := r.block(t, "b")
			opt.Wait = mostWait
			ctx, cancel := context.WithTimeoutCause(t.Context(), mostWait/2, errOwn)
			began := time.Now()
			_, err := r.try(ctx, long, &opt)
			if took := time.Since(began); took > mostWait/2+200*time.Millisecond {
				t.Errorf("%s: it took %v, want %v", name, took, mostWait/2)
			}
			cancel()
			check.Is(t, err, redislock.ErrNotObtained, errOwn)
			wantNot(t, err, redislock.ErrWaitOver)
			release()
			r.wantFree(t)
		}
	})
	m.in(t, "whoever asks once does not wait", func(t *testing.T, r *rig) {
		release := r.block(t, "b")
		began := time.Now()
		_, err := r.try(t.Context(), long, &redislock.Options{Wait: mostWait, RetryStrategy: redislock.NoRetry()})
		check.Is(t, err, redislock.ErrNotObtained)
		wantNot(t, err, redislock.ErrWaitOver)
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		release()
	})
	m.in(t, "a time that cannot be is refused", func(t *testing.T, r *rig) {
		for _, bad := range []time.Duration{-1, time.Microsecond - 1, longest + 1} {
			_, err := r.try(t.Context(), long, &redislock.Options{Wait: bad})
			if err == nil || errors.Is(err, redislock.ErrNotObtained) {
				t.Errorf("got error %v of the Wait %v", err, bad)
			}
		}
		r.story.want(t, "")
		check.NoError(t, r.obtain(t, long, &redislock.Options{Wait: longest}).Release(t.Context()))
	})
}

// waits are the options of Obtains that wait, and of one that does not say how.
func (r *rig) waits() map[string]redislock.Options {
	waits := map[string]redislock.Options{"by default": {}}
	if !r.maker.NoQueue.holds() {
		waits["in line, and anew"] = redislock.Options{Queue: true, Watchdog: true, RetryStrategy: redislock.LinearBackoff(time.Second)}
	}
	for _, way := range slices.Sorted(maps.Keys(r.ways())) {
		waits[way] = r.ways()[way]
	}
	return waits
}

// wantWaitOver checks the error of an Obtain that has waited in vain for a key.
func wantWaitOver(t *testing.T, err error, key string) {
	t.Helper()
	check.Is(t, err, redislock.ErrNotObtained, redislock.ErrWaitOver)
	wantNot(t, err, context.DeadlineExceeded, redislock.ErrUnknownOutcome)
	if conflict, ok := errors.AsType[*redislock.ConflictError](err); !ok || conflict.Key != key || conflict.Metadata != "other" {
		t.Errorf("got error %v, want a conflict on %q", err, key)
	}
}
