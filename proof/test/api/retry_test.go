package api_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// waits draws n waits from a fresh state of the strategy.
func waits(s redislock.RetryStrategy, n int) []time.Duration {
	b := s()
	drawn := make([]time.Duration, n)
	for i := range drawn {
		drawn[i] = b.NextBackOff()
	}
	return drawn
}

func TestStrategies(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name        string
		strategy    redislock.RetryStrategy
		least, most []time.Duration
	}{
		{"none", redislock.NoRetry(), []time.Duration{-1, -1}, []time.Duration{-1, -1}},
		{"linear", redislock.LinearBackoff(20 * ms), []time.Duration{20 * ms, 20 * ms, 20 * ms}, []time.Duration{20 * ms, 20 * ms, 20 * ms}},
		{"linear, not positive", redislock.LinearBackoff(0), []time.Duration{-1}, []time.Duration{-1}},
		{
			"exponential", redislock.ExponentialBackoff(10*ms, 60*ms),
			[]time.Duration{5 * ms, 10 * ms, 20 * ms, 30 * ms, 30 * ms},
			[]time.Duration{15 * ms, 30 * ms, 60 * ms, 60 * ms, 60 * ms},
		},
		{"exponential, bounds that make no sense", redislock.ExponentialBackoff(-1, 1), []time.Duration{ms / 2, ms / 2}, []time.Duration{ms, ms}},
		{
			"exponential, without a maximum", redislock.ExponentialBackoff(8*ms, 0),
			[]time.Duration{4 * ms, 8 * ms, 16 * ms, 32 * ms, 64 * ms},
			[]time.Duration{12 * ms, 24 * ms, 48 * ms, 96 * ms, 192 * ms},
		},
		{
			"exponential, with less than none", redislock.ExponentialBackoff(0, -time.Second),
			[]time.Duration{ms / 2, ms, 2 * ms},
			[]time.Duration{3 * ms / 2, 3 * ms, 6 * ms},
		},
		{"limited", redislock.LimitRetry(redislock.LinearBackoff(ms), 2), []time.Duration{ms, ms, -1, -1}, []time.Duration{ms, ms, -1, -1}},
		{"limited to nothing", redislock.LimitRetry(redislock.LinearBackoff(ms), 0), []time.Duration{-1}, []time.Duration{-1}},
		{"limited nil", redislock.LimitRetry(nil, 5), []time.Duration{-1}, []time.Duration{-1}},
		{"limited twice", redislock.LimitRetry(redislock.LimitRetry(redislock.LinearBackoff(ms), 1), 5), []time.Duration{ms, -1}, []time.Duration{ms, -1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range 20 { // lesson: a reused strategy had used up its retries
				for i, got := range waits(test.strategy, len(test.least)) {
					if got < test.least[i] || got > test.most[i] {
						t.Fatalf("got wait %d %v, want from %v to %v", i, got, test.least[i], test.most[i])
					}
				}
			}
		})
	}
	t.Run("a wait that doubles for ever never turns negative", func(t *testing.T) {
		for _, strategy := range []redislock.RetryStrategy{
			redislock.ExponentialBackoff(time.Hour, 0), redislock.ExponentialBackoff(math.MaxInt64, 0),
			redislock.ExponentialBackoff(math.MaxInt64, math.MaxInt64), redislock.ExponentialBackoff(time.Hour, math.MaxInt64),
		} {
			for i, wait := range waits(strategy, 200) {
				if wait < time.Hour/2 || i > 50 && wait < 1000*time.Hour {
					t.Fatalf("got wait %d %v", i, wait)
				}
			}
		}
	})
	t.Run("jitter", func(t *testing.T) {
		seen := make(map[time.Duration]bool)
		for range 50 {
			seen[waits(redislock.ExponentialBackoff(10*ms, time.Second), 1)[0]] = true
		}
		if len(seen) < 10 {
			t.Errorf("got %d different waits of 50, want jitter", len(seen))
		}
	})
}

// Lesson: goroutines shared one budget of retries.
func TestStrategyIsSharedByGoroutines(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
		var asked atomic.Int64
		opt := &redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Second), 7)}
		client := redislock.New(w.RDB, redislock.WithHooks(redislock.Hooks{
			Refused: func(_ context.Context, e redislock.Event) { asked.Add(int64(e.Attempts)) },
		}))
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				for range 2 {
					_, err := client.Obtain(t.Context(), w.Keys("a"), time.Hour, opt)
					check.Is(t, err, redislock.ErrNotObtained)
				}
			})
		}
		wg.Wait()
		if got, want := asked.Load(), int64(10*2*8); got != want {
			t.Errorf("asked %d times, want %d", got, want)
		}
	})
}

func TestRetry(t *testing.T) {
	t.Run("obtains when the key is free", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			holder := check.Must[*redislock.Lock](t)(world.NewClient(t, w.RDB).Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
			time.AfterFunc(3500*time.Millisecond, func() { _ = holder.Release(context.WithoutCancel(t.Context())) })
			began := time.Now()
			check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour,
				&redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Second)}))
			if waited := time.Since(began); waited != 4*time.Second {
				t.Errorf("waited %v, want the fourth second", waited)
			}
		})
	})
	t.Run("no strategy: asks once", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
			began := time.Now()
			_, err := w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil)
			world.WantConflict(t, err, w.Key("a"), redislock.ModeWrite)
			if waited := time.Since(began); waited != 0 {
				t.Errorf("waited %v", waited)
			}
		})
	})
	// Lesson: the wait was silently capped at the ttl.
	t.Run("waits longer than its own ttl", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
			time.AfterFunc(time.Minute, func() { _ = holder.Release(context.WithoutCancel(t.Context())) })
			began := time.Now()
			check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Second,
				&redislock.Options{RetryStrategy: redislock.LinearBackoff(100 * time.Millisecond)}))
			if waited := time.Since(began); waited < time.Minute {
				t.Errorf("waited %v, want a minute", waited)
			}
		})
	})
	t.Run("a wait does not outlast the holder's lease", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), 5*time.Second, nil))
			began := time.Now()
			check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour,
				&redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Hour)}))
			if waited := time.Since(began); waited < 5*time.Second || waited > 5*time.Second+50*time.Millisecond {
				t.Errorf("waited %v, want the lease and a jitter", waited)
			}
		})
	})
	t.Run("the context bounds it, and says both why", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			began := time.Now()
			_, err := w.Client.Obtain(ctx, w.Keys("a"), time.Hour,
				&redislock.Options{RetryStrategy: redislock.LinearBackoff(3 * time.Second)})
			check.Is(t, err, context.DeadlineExceeded)
			world.WantConflict(t, err, w.Key("a"), redislock.ModeWrite)
			if waited := time.Since(began); waited != 10*time.Second {
				t.Errorf("waited %v, want 10s", waited)
			}
		})
	})
	t.Run("a context that has ended: nothing is sent", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			check.NoError(t, w.RDB.Ping(t.Context()).Err())
			before := mini.Miniredis().CommandCount()
			_, err := w.Client.Obtain(ctx, w.Keys("a"), time.Hour, nil)
			check.Is(t, err, context.Canceled)
			check.Is(t, err, redislock.ErrNotObtained)
			if sent := mini.Miniredis().CommandCount() - before; sent != 0 {
				t.Errorf("sent %d commands", sent)
			}
		})
	})
	t.Run("any BackOff of the library", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
			began := time.Now()
			_, err := w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, &redislock.Options{
				RetryStrategy: func() redislock.BackOff {
					return backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(time.Minute))
				},
			})
			check.Is(t, err, redislock.ErrNotObtained)
			if waited := time.Since(began); waited < 30*time.Second || waited > 2*time.Minute {
				t.Errorf("waited %v, want about a minute", waited)
			}
		})
	})
	t.Run("a strategy that does not wait", func(t *testing.T) {
		world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
			check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			asked := check.Count(w.RDB, "eval")
			_, err := w.Client.Obtain(ctx, w.Keys("a"), time.Hour,
				&redislock.Options{RetryStrategy: func() redislock.BackOff { return &backoff.ZeroBackOff{} }})
			check.Is(t, err, context.DeadlineExceeded)
			if n := asked.Load(); n < 500 || n > 1010 {
				t.Errorf("asked %d times in a second, want once each millisecond", n)
			}
		})
	})
	for reply, retried := range map[string]bool{
		"LOADING Redis is loading the dataset in memory":                         true,
		"CLUSTERDOWN The cluster is down":                                        true,
		"NOREPLICAS Not enough good replicas to write.":                          true,
		"NOPERM this user has no permissions to run the 'evalsha' command":       false,
		"ERR The user executing the script can't run this command or subcommand": false,
		"OOM command not allowed when used memory > 'maxmemory'.":                false,
		"NOAUTH Authentication required.":                                        false,
	} {
		// Lesson: NOPERM was retried until the deadline, or swallowed.
		t.Run(reply, func(t *testing.T) {
			world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
				mini.Miniredis().SetError(reply)
				time.AfterFunc(10*time.Second, func() { mini.Miniredis().SetError("") })
				began := time.Now()
				_, err := w.Client.Obtain(t.Context(), w.Keys("a"), time.Hour,
					&redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Second)})
				switch waited := time.Since(began); {
				case retried:
					check.NoError(t, err)
					if waited < 10*time.Second {
						t.Errorf("waited %v", waited)
					}
				case err == nil || errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrUnknownOutcome):
					t.Errorf("got error %v, want the server's", err)
				case waited != 0:
					t.Errorf("waited %v for what does not pass", waited)
				}
				synctest.Wait()
			})
		})
	}
}

// Lesson: an acquire time-out of 20 ms was built in, so that nothing was ever obtained over a slow
// link.
func TestSlowLink(t *testing.T) {
	t.Parallel()
	relay := redistest.NewRelay(t, redistest.Shared(t, redistest.Redis).Addr())
	relay.DelayReplies(300 * time.Millisecond)
	client := redislock.New(relay.Client(t))
	lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{t.Name()}, world.Long, nil))
	check.NoError(t, lock.Release(t.Context()))
}

// Lesson: with an expiry by the client's clock, a client that ran behind got OK for a key that did
// not exist.
func TestServerTimeCounts(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		mini := redistest.StartMini(t)
		mini.Miniredis().SetTime(time.Now().Add(skew))
		w := world.New(t, mini)
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: w.Keys("a"), Read: w.Keys("b")}, world.Long, nil))
		for _, key := range w.Keys("a", "b") {
			w.WantTTL(t, key, world.Long-world.Slack, world.Long)
		}
		_, err := w.Client.Obtain(t.Context(), w.Keys("b"), world.Long, nil)
		world.WantConflict(t, err, w.Key("b"), redislock.ModeRead)
		if ttl := check.Must[time.Duration](t)(lock.TTL(t.Context())); ttl <= world.Long-world.Slack || ttl > world.Long {
			t.Errorf("got ttl %v with a server clock %v ahead", ttl, skew)
		}
		check.NoError(t, lock.Release(t.Context()))
	}
}
