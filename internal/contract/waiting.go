package contract

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
)

// waiting checks what hooks are told of an Obtain that waits.
func waiting(t *testing.T, m Maker) {
	t.Helper()
	const until = 2500 * time.Millisecond
	m.in(t, "for the lock", func(t *testing.T, r *rig) {
		for way, opt := range r.ways() {
			time.AfterFunc(until, r.block(t, "b"))
			lock := r.obtain(t, long, &opt)
			events := r.story.want(t, "waiting waited obtained")
			for i, e := range events {
				if e.Way != way || !slices.Equal(e.Keys, r.keys) || i > 0 && e.Err != nil {
					t.Errorf("%s: got event %+v", e.name, e.Event)
				}
			}
			began, waited, all := events[0].Event, events[1].Event, events[2].Event
			if way == "poll" {
				check.Is(t, began.Err, redislock.ErrNotObtained)
				if began.Attempts != 1 || waited.Attempts < 3 || all.Attempts != waited.Attempts {
					t.Errorf("got %d, %d and %d attempts", began.Attempts, waited.Attempts, all.Attempts)
				}
			}
			if waited.Duration < until-100*time.Millisecond || waited.Duration > 2*until || began.Duration+waited.Duration > all.Duration {
				t.Errorf("it took %v, then %v, in all %v", began.Duration, waited.Duration, all.Duration)
			}
			check.NoError(t, lock.Release(t.Context()))
			r.story.want(t, "released")
		}
	})
	m.in(t, "in vain", func(t *testing.T, r *rig) {
		release := r.block(t, "b")
		for way, opt := range r.ways() {
			for _, ends := range []error{errOwn, redislock.ErrWaitOver} {
				ctx, cancel := context.WithTimeoutCause(t.Context(), until, errOwn)
				if ends != errOwn { //nolint:errorlint // it is this value
					ctx, opt.Wait = t.Context(), until
				}
				_, err := r.try(ctx, long, &opt)
				cancel()
				check.Is(t, err, ends)
				for _, e := range r.story.want(t, "waiting waited refused")[1:] {
					if check.Is(t, e.Err, ends); e.Way != way {
						t.Errorf("%s: got event %+v", e.name, e.Event)
					}
				}
			}
		}
		release()
		r.wantFree(t)
	})
	m.in(t, "not of one that does not wait", func(t *testing.T, r *rig) {
		release := r.block(t, "b")
		for _, strategy := range []redislock.RetryStrategy{nil, redislock.NoRetry(), redislock.LimitRetry(redislock.LinearBackoff(time.Second), 0)} {
			_, err := r.try(t.Context(), long, &redislock.Options{RetryStrategy: strategy})
			check.Is(t, err, redislock.ErrNotObtained)
			if e := r.story.want(t, "refused")[0]; e.Attempts != 1 || e.Duration != 0 || e.Err == nil {
				t.Errorf("got event %+v", e.Event)
			}
		}
		release()
		for _, opt := range r.ways() {
			check.NoError(t, r.obtain(t, long, &opt).Release(t.Context()))
			r.story.want(t, "obtained released")
		}
	})
	m.in(t, "also if a strategy panics", func(t *testing.T, r *rig) {
		release := r.block(t, "b")
		left := 2
		panics := strategy(func() time.Duration {
			if left--; left < 0 {
				panic("own")
			}
			return time.Second
		})
		wantPanic(t, func() {
			_, _ = r.try(t.Context(), long, &redislock.Options{RetryStrategy: func() redislock.BackOff { return panics }})
		})
		for _, e := range r.story.want(t, "waiting waited refused") {
			if e.Err == nil {
				t.Errorf("%s: got no error of an Obtain that has panicked", e.name)
			}
		}
		release()
		r.wantFree(t)
	})
	m.in(t, "and nothing is left if that hook panics", func(t *testing.T, _ *rig) {
		own := m.rig(t, redislock.Hooks{Waiting: func(context.Context, redislock.Event) { panic("own") }})
		for _, opt := range own.ways() {
			release := own.block(t, "b")
			wantPanic(t, func() { _, _ = own.try(t.Context(), long, &opt) })
			time.Sleep(long)
			release()
			own.wantFree(t)
		}
	})
	m.in(t, "of many at once", func(t *testing.T, r *rig) {
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*150*time.Millisecond)
				defer cancel()
				lock, err := r.try(ctx, long, &redislock.Options{
					RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(50*time.Millisecond), 3*i),
					Wait:          time.Duration(i%3) * 400 * time.Millisecond,
				})
				if err == nil {
					time.Sleep(100 * time.Millisecond)
					err = lock.Release(t.Context())
					check.NoError(t, err)
				}
			})
		}
		all.Wait()
		waiting, most := 0, 0
		for _, e := range r.story.take() {
			switch e.name {
			case "waiting":
				waiting++
			case "waited":
				waiting--
			}
			most = max(most, waiting)
		}
		if waiting != 0 || most < 2 {
			t.Errorf("%d wait still, and %d have waited at the same time", waiting, most)
		}
		r.wantFree(t)
	})
}

// A strategy says how long to wait.
type strategy func() time.Duration

// NextBackOff is the method of a redislock.BackOff.
func (s strategy) NextBackOff() time.Duration { return s() }
