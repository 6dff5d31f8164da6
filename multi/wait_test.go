package multi_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

// Options.Wait bounds the obtaining of all parts together, and nothing that comes after it.
func TestWait(t *testing.T) {
	const most = 5 * time.Second
	poll := redislock.Options{Wait: most, RetryStrategy: redislock.LinearBackoff(300 * time.Millisecond)}
	queue := redislock.Options{Wait: most, Queue: true, Watchdog: true}
	again := queue // in line, and anew when that is over
	again.RetryStrategy = poll.RetryStrategy
	all := map[string]redislock.Options{"polling": poll, "polling by default": {Wait: most}, "in line": queue, "in line, again and again": again}

	for name, opt := range all {
		for _, held := range []string{"a", "c"} {
			t.Run(name+" for "+held, func(t *testing.T) {
				bubble(t, func(t *testing.T, w *world) {
					other := w.block(t, long, held)
					if !opt.Queue && held == "c" { // who polls holds nothing meanwhile
						time.AfterFunc(most/2, func() { w.wantFree(t, "a", "b") })
					}
					began := time.Now()
					_, err := multi.Obtain(bounded(t), w.abc(), long, &opt)
					if took := time.Since(began); took < most || took > most+200*time.Millisecond {
						t.Errorf("it took %v, want %v", took, most)
					}
					part := map[string]string{"a": "part 1 of 3", "c": "part 3 of 3"}[held]
					wantConflict(t, err, w.key(held), part)
					wantIs(t, err, redislock.ErrWaitOver)
					wantNot(t, err, context.DeadlineExceeded)
					w.wantSoonFree(t, "b")
					if n := w.inLine(t, held); n != 0 {
						t.Errorf("%d stand in line still", n)
					}
					noError(t, other.Release(bounded(t)))
				})
			})
		}

		t.Run(name+", for one after the other", func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				first, last := w.block(t, long, "a"), w.block(t, long, "c")
				time.AfterFunc(most*3/5, func() { noError(t, first.Release(context.Background())) })
				began := time.Now()
				_, err := multi.Obtain(bounded(t), w.abc(), long, &opt)
				wantIs(t, err, redislock.ErrNotObtained, redislock.ErrWaitOver)
				if took := time.Since(began); took < most || took > most+200*time.Millisecond {
					t.Errorf("it took %v, want %v in all", took, most)
				}
				w.wantSoonFree(t, "a", "b")
				noError(t, last.Release(bounded(t)))
			})
		})

		t.Run(name+" with success", func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				other := w.block(t, long, "b")
				time.AfterFunc(most/2, func() { noError(t, other.Release(context.Background())) })
				noError(t, multi.With(bounded(t), w.abc(), 2*time.Second, &opt, func(ctx context.Context) error {
					time.Sleep(10 * most)
					w.wantHeld(t, "a", "b", "c")
					return ctx.Err()
				}))
			})
		})
	}

	t.Run("one attempt is made however short it is", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) { // where no machine is too slow for the answer
			for name, opt := range all {
				opt.Wait = time.Microsecond
				lock, err := multi.Obtain(bounded(t), w.abc(), long, &opt)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				noError(t, lock.Release(bounded(t)))
				other := w.block(t, long, "c")
				_, err = multi.Obtain(bounded(t), w.abc(), long, &opt)
				wantConflict(t, err, w.key("c"), "part 3 of 3")
				wantIs(t, err, redislock.ErrWaitOver)
				noError(t, other.Release(bounded(t)))
				w.wantSoonFree(t, "a", "b")
			}
		})
	})

	t.Run("a server that does not answer", func(t *testing.T) {
		slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
			w.clients[1] = w.newClient(t, relay.Client(t, neverGivesUp))
			w.warmUp(t)
			relay.Blackhole(true)
			began := time.Now()
			_, err := multi.Obtain(bounded(t), w.abc(), long, &redislock.Options{Wait: time.Second})
			wantIs(t, err, redislock.ErrUnknownOutcome, redislock.ErrWaitOver)
			wantNot(t, err, context.DeadlineExceeded)
			if took := time.Since(began); took > soon {
				t.Errorf("it took %v, want about 2 s", took)
			}
			relay.Blackhole(false)
			relay.Cut()
			w.wantSoonFree(t, "a", "b", "c")
		})
	})

	t.Run("a time that cannot be is refused", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			for _, wait := range []time.Duration{-1, time.Microsecond - 1, 365*24*time.Hour + 1} {
				_, err := multi.Obtain(bounded(t), w.abc(), long, &redislock.Options{Wait: wait})
				if err == nil || errors.Is(err, redislock.ErrNotObtained) {
					t.Errorf("got error %v", err)
				}
			}
			wantEvents(t, w.took(), nil)
		})
	})

	t.Run("the end of ctx is no end of the Wait", func(t *testing.T) {
		bubble(t, func(t *testing.T, w *world) {
			other := w.block(t, long, "b")
			ctx, cancel := context.WithTimeout(bounded(t), most/2)
			defer cancel()
			_, err := multi.Obtain(ctx, w.abc(), long, &poll)
			wantIs(t, err, redislock.ErrNotObtained, context.DeadlineExceeded)
			wantNot(t, err, redislock.ErrWaitOver)
			noError(t, other.Release(bounded(t)))
		})
	})
}
