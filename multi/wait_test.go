package multi_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

// Options.Wait bounds the obtaining of all parts together, one after the other.
func TestWait(t *testing.T) {
	const most = 5 * time.Second
	poll := redislock.Options{Wait: most, RetryStrategy: redislock.LinearBackoff(300 * time.Millisecond)}
	queue := redislock.Options{Wait: most, Queue: true, Watchdog: true}
	again := queue // in line, and anew when that is over
	again.RetryStrategy = poll.RetryStrategy
	all := map[string]redislock.Options{"polling": poll, "polling by default": {Wait: most}, "in line": queue, "in line, again and again": again}

	for name, opt := range all {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				first, last := w.block(t, long, "a"), w.block(t, long, "c")
				time.AfterFunc(most*3/5, func() { noError(t, first.Release(context.Background())) })
				if !opt.Queue { // who polls holds nothing meanwhile
					time.AfterFunc(most*4/5, func() { w.wantFree(t, "a", "b") })
				}
				began := time.Now()
				_, err := multi.Obtain(bounded(t), w.abc(), long, &opt)
				wantConflict(t, err, w.key("c"), "part 3 of 3")
				wantIs(t, err, redislock.ErrWaitOver)
				if took := time.Since(began); took < most || took > most+200*time.Millisecond {
					t.Errorf("it took %v, want %v in all", took, most)
				}
				w.wantSoonFree(t, "a", "b")
				noError(t, last.Release(bounded(t)))
			})
		})
	}

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
}
