package quick_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// The deadline counts from before the request was sent: the server may have executed it at once, however
// long the answer took.
func TestDeadlineIsFromBeforeTheRequest(t *testing.T) {
	const ttl, far = 30 * time.Second, 2 * time.Second
	window := ttl - ttl/100 - 2*time.Millisecond
	for name, opt := range map[string]*redislock.Options{"refresh": nil, "renewal": world.Watched} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, j *world.Journal) {
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), ttl, opt))
				var sent atomic.Int64
				world.OnLease(w.RDB, func(_ bool, send func() error) error {
					at := time.Now()
					err := send()
					if err == nil {
						sent.Store(at.UnixNano())
						time.Sleep(far)
					}
					return err
				})
				if opt == nil {
					check.NoError(t, lock.Refresh(t.Context(), ttl))
				} else {
					time.Sleep(ttl/3 + far)
				}
				synctest.Wait()
				if n := j.Count("refreshed"); n != 1 {
					t.Fatalf("got %d new leases, want 1", n)
				}
				if got, want := lock.Deadline(), time.Unix(0, sent.Load()).Add(window); !got.Equal(want) {
					t.Errorf("got a deadline %v after what was sent, want %v", got.Sub(want)+window, window)
				}
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}

// A renewal that reaches the server behind a Refresh which was sent later, and asks for more, leaves the
// lease as long as that has made it.
func TestLateRenewalShortensNothing(t *testing.T) {
	const ttl = 30 * time.Second
	for name, read := range map[string]bool{"write": false, "read": true} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, j *world.Journal) {
				write, reads := w.Keys("a"), w.Keys()
				if read {
					write, reads = reads, write
				}
				lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: write, Read: reads}, ttl, world.Watched))
				renewing, refreshed := make(chan struct{}), make(chan struct{})
				var late atomic.Bool
				world.OnLease(w.RDB, func(renewal bool, send func() error) error {
					if renewal && late.CompareAndSwap(false, true) {
						close(renewing)
						<-refreshed
					}
					return send()
				})
				select {
				case <-renewing:
				case <-time.After(ttl):
					t.Fatal("no renewal was seen")
				}
				check.NoError(t, lock.Refresh(t.Context(), time.Hour))
				close(refreshed)
				synctest.Wait()
				if n := j.Count("refreshed"); n != 2 {
					t.Fatalf("got %d answers, want those of the Refresh and of the renewal", n)
				}
				if left := check.Must[time.Duration](t)(lock.TTL(t.Context())); left < time.Hour-time.Second {
					t.Errorf("got a lease of %v, want that of the Refresh", left)
				}
				w.WantTTL(t, w.Key("a"), time.Hour-time.Second, time.Hour)
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}

// After a Release nothing is sent any more: not by the watchdog, and not for a renewal that was not
// answered.
func TestNothingIsSentAfterRelease(t *testing.T) {
	for _, name := range []string{"between renewals", "after one that failed"} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				const ttl = 30 * time.Second
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), ttl, world.Watched))
				time.Sleep(ttl)
				if name == "after one that failed" {
					mini.Miniredis().SetError("LOADING Redis is loading the dataset in memory")
					time.Sleep(ttl / 2)
					mini.Miniredis().SetError("")
				}
				check.NoError(t, lock.Release(context.WithoutCancel(t.Context())))
				before := mini.Miniredis().CommandCount()
				time.Sleep(time.Hour)
				if more := mini.Miniredis().CommandCount() - before; more != 0 {
					t.Errorf("%d commands were sent after the release", more)
				}
			})
		})
	}
}
