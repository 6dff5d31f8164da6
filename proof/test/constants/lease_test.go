package constants_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

const ms = time.Millisecond

// lasts is for how much of a lease its holder can be certain of it.
func lasts(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*ms }

// A loss is told a twentieth of the lease before its deadline, and 100 ms before it at most.
func TestLossIsToldBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	for ttl, before := range map[time.Duration]time.Duration{
		time.Second: 50 * ms, 2 * time.Second: 100 * ms, 10 * time.Second: 100 * ms,
	} {
		t.Run(ttl.String(), func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				began := time.Now()
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), ttl, nil))
				if got := lock.Deadline().Sub(began); got != lasts(ttl) {
					t.Errorf("got a deadline after %v, want %v", got, lasts(ttl))
				}
				<-lock.Context(t.Context()).Done()
				if got := time.Until(lock.Deadline()); got != before {
					t.Errorf("told %v before the deadline, want %v", got, before)
				}
			})
		})
	}
}

// A watchdog renews when a third of what is certain is over, and asks again each ninth of the lease if that fails.
func TestRenewalsAreOnTime(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	third := lasts(ttl) / 3
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		client, gate := newGate(t, mini, "refresh")
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a"), ttl, world.Watched))
		time.Sleep(third + time.Second) // one is answered
		gate.begin(true)
		<-lock.Context(t.Context()).Done()
		var again []time.Duration
		for at := third; at < lasts(ttl)-100*ms; at += ttl / 9 {
			again = append(again, at-time.Second)
		}
		gate.wantAt(t, again...)
	})
}

// Renewals go together with others that are due a thirtieth of the lease before them.
func TestRenewalsGoTogether(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	third := lasts(ttl) / 3
	for apart, second := range map[time.Duration]time.Duration{900 * ms: third, 1100 * ms: third + 1100*ms} {
		t.Run(apart.String(), func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				client, gate := newGate(t, mini, "refresh")
				warm := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("warm"), ttl, nil))
				check.NoError(t, warm.Refresh(t.Context(), ttl)) // the server knows the script
				check.NoError(t, warm.Release(t.Context()))
				gate.begin(false)
				for i, key := range w.Keys("a", "b") {
					check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, ttl, world.Watched))
					if i == 0 {
						time.Sleep(apart)
					}
				}
				time.Sleep(third + 3*time.Second)
				gate.wantAt(t, third, second)
			})
		})
	}
}

// A Release that is refused is done again in the background: after 50 ms, then each time after twice as long, up to 30 s,
// until 10 s after the longest lease that was asked for.
func TestCleanUpIsOnTime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ttl, refreshed time.Duration
		want           []time.Duration // behind those that a Release of any lease has
	}{
		"short":     {6 * time.Second, 0, []time.Duration{6350 * ms, 12750 * ms}},
		"long":      {100 * time.Second, 0, []time.Duration{6350 * ms, 12750 * ms, 25550 * ms, 51150 * ms, 81150 * ms}},
		"refreshed": {time.Second, 25 * time.Second, []time.Duration{6350 * ms, 12750 * ms, 25550 * ms}},
		"shortened": {25 * time.Second, time.Second, []time.Duration{6350 * ms, 12750 * ms, 25550 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				client, gate := newGate(t, mini, "release")
				lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a"), test.ttl, nil))
				if test.refreshed > 0 {
					check.NoError(t, lock.Refresh(t.Context(), test.refreshed))
				}
				gate.begin(true)
				if err := lock.Release(t.Context()); err == nil {
					t.Error("the Release was not refused")
				}
				time.Sleep(time.Hour)
				// The first two are the Release, and the first clean-up.
				gate.wantAt(t, append([]time.Duration{0, 0, 50 * ms, 150 * ms, 350 * ms, 750 * ms, 1550 * ms, 3150 * ms}, test.want...)...)
			})
		})
	}
}

// A Release whose context had ended before waits for its answer for a second; one whose context ends meanwhile for 100 ms.
func TestReleaseWaitsForItsAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ ends, want time.Duration }{
		"ended before": {0, time.Second}, "ends meanwhile": {2 * time.Second, 2100 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
				lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), world.Long, nil))
				w.RDB.AddHook(check.Slow(10 * time.Second))
				ctx, cancel := context.WithTimeout(t.Context(), test.ends)
				defer cancel()
				got := took(func() { check.Is(t, lock.Release(ctx), redislock.ErrUnknownOutcome) })
				if got != test.want {
					t.Errorf("waited for %v, want %v", got, test.want)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
			})
		})
	}
}
