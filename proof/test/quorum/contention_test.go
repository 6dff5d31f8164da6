package quorum_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/quorum"
)

// Clients that ask at the same time split the nodes among them, again and again, if nothing makes
// them different. The answers take time, and each another one, in virtual time.
func TestSplitVotes(t *testing.T) {
	farBubble(t, 5, 5, func(t *testing.T, w *world, d *distance) {
		d.set(4 * time.Millisecond)
		d.uneven.Store(true)
		var held, most, split atomic.Int64
		var all sync.WaitGroup
		start := make(chan struct{})
		for range 5 {
			client := w.newClient(t)
			all.Go(func() {
				<-start
				for range 5 {
					lock, err := client.Obtain(bounded(t), []string{"k"}, long, &redislock.Options{
						RetryStrategy: func() redislock.BackOff {
							return wait(func() time.Duration {
								split.Add(1)
								return 5 * time.Millisecond
							})
						},
					})
					if err != nil {
						t.Error(err)
						return
					}
					most.Store(max(most.Load(), held.Add(1)))
					time.Sleep(time.Millisecond)
					held.Add(-1)
					if err := lock.Release(bounded(t)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		close(start)
		waitAll(t, &all)
		if got := most.Load(); got != 1 {
			t.Errorf("got %d holders at a time", got)
		}
		if split.Load() == 0 {
			t.Error("nobody was in anybody's way")
		}
	})
}

func TestRetry(t *testing.T) {
	t.Run("nothing is held between attempts", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 5)
		others := w.block(t, "k", long, 0, 1, 2)
		waits := 0
		lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k", "l"}, long, &redislock.Options{
			RetryStrategy: func() redislock.BackOff {
				return wait(func() time.Duration {
					w.wantHolders(t, "l", 0)
					if waits++; waits == 3 {
						noError(t, others[1].Release(bounded(t)))
					}
					return time.Millisecond
				})
			},
		}))
		if waits != 3 {
			t.Errorf("got %d waits, want 3", waits)
		}
		noError(t, lock.Release(bounded(t)))
	})

	t.Run("each wait is another", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			w.block(t, "k", long, 0, 1)
			const every = 100 * time.Millisecond
			began, before, early := time.Now(), time.Time{}, false
			_, err := w.client.Obtain(bounded(t), []string{"k"}, long, &redislock.Options{
				RetryStrategy: func() redislock.BackOff {
					return wait(func() time.Duration {
						at := time.Now()
						early = !before.IsZero() && at.Sub(before) < every
						before = at
						if early || time.Since(began) > soon {
							return backoff.Stop
						}
						return every
					})
				},
			})
			wantOnly(t, err, redislock.ErrNotObtained)
			if !early {
				t.Errorf("no wait was shorter than the strategy says")
			}
		})
	})

	t.Run("no longer than the leases in the way", func(t *testing.T) {
		bubble(t, 5, func(t *testing.T, w *world) {
			w.block(t, "k", long, 0, 1)
			w.block(t, "k", 300*time.Millisecond, 2)
			began := time.Now()
			lock := must[*quorum.Lock](t)(w.client.Obtain(bounded(t), []string{"k"}, long, &redislock.Options{
				RetryStrategy: redislock.LinearBackoff(100 * long),
			}))
			if took := time.Since(began); took < 300*time.Millisecond || took > time.Second {
				t.Errorf("it took %v with a lease of 300 ms in the way", took)
			}
			noError(t, lock.Release(bounded(t)))
		})
	})

	t.Run("fresh state for each call", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, 3)
		w.block(t, "k", long, 0, 1)
		opt := &redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2)}
		for i := range 2 {
			_, err := w.client.Obtain(bounded(t), []string{"k"}, long, opt)
			wantOnly(t, err, redislock.ErrNotObtained)
			if got, want := w.count("refused", 0), 3*(i+1); got != want {
				t.Errorf("node 0 has refused %d times, want %d", got, want)
			}
		}
	})

	t.Run("ctx bounds it", func(t *testing.T) {
		bubble(t, 3, func(t *testing.T, w *world) {
			w.block(t, "k", long, 0, 1)
			for _, every := range []time.Duration{time.Millisecond, long} {
				began := time.Now()
				ctx, cancel := context.WithTimeout(bounded(t), 100*time.Millisecond)
				_, err := w.client.Obtain(ctx, []string{"k"}, long, &redislock.Options{RetryStrategy: redislock.LinearBackoff(every)})
				cancel()
				if !errors.Is(err, redislock.ErrNotObtained) && !errors.Is(err, redislock.ErrUnknownOutcome) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got error %v", err)
				}
				if took := time.Since(began); took > 400*time.Millisecond {
					t.Errorf("it took %v with a context of 100 ms", took)
				}
				w.wantHolders(t, "k", 2)
			}
		})
	})
}

// wait is a strategy that asks.
type wait func() time.Duration

func (w wait) NextBackOff() time.Duration { return w() }
