package multi_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

// relayed puts a relay before one of the places.
func (w *world) relayed(t *testing.T, place int) *redistest.Relay {
	t.Helper()
	relay := redistest.NewRelay(t, w.rdb.Options().Addr)
	w.clients[place] = w.newClient(t, relay.Client(t, impatient))
	return relay
}

// impatient has a client find out soon that nothing comes.
func impatient(opt *redis.Options) { opt.MaxRetries, opt.ReadTimeout = -1, 2*time.Second }

// warmUp connects every Client and has the scripts where they are needed, so that every operation is
// one command from then on.
func (w *world) warmUp(t *testing.T) {
	t.Helper()
	lock := must[*multi.Lock](t)(multi.Obtain(t.Context(), w.abc(), long, nil))
	noError(t, lock.Refresh(t.Context(), long))
	noError(t, lock.Release(t.Context()))
	w.took()
}

// slowly runs fn with the second of the three parts behind a relay.
func slowly(t *testing.T, fn func(t *testing.T, w *world, relay *redistest.Relay)) {
	t.Helper()
	scenario(t, func(t *testing.T, w *world) { fn(t, w, w.relayed(t, 1)) })
}

func TestSlowPart(t *testing.T) {
	const ttl = time.Second

	t.Run("leases that have aged are refreshed before the lock is returned", func(t *testing.T) {
		slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
			w.warmUp(t)
			relay.DelayReplies(ttl / 2)
			lock := must[*multi.Lock](t)(multi.Obtain(t.Context(), w.abc(), ttl, nil))
			if left := time.Until(lock.Deadline()); left <= 0 {
				t.Errorf("the lock is over since %v", -left)
			}
			events := w.took()
			if !slices.Contains(events, "refreshed a") || !slices.Contains(events, "refreshed b") {
				t.Errorf("got events %q, want the parts a and b refreshed", events)
			}
			if ttl := must[time.Duration](t)(w.rdb.PTTL(t.Context(), w.key("a")).Result()); ttl < 350*time.Millisecond {
				t.Errorf("got ttl %v of the first part", ttl)
			}
			relay.DelayReplies(0)
			noError(t, lock.Release(t.Context()))
			w.wantFree(t, "a", "b", "c")
		})
	})

	t.Run("fresh ones are left alone", func(t *testing.T) {
		slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
			w.warmUp(t)
			relay.DelayReplies(100 * time.Millisecond)
			lock := must[*multi.Lock](t)(multi.Obtain(t.Context(), w.abc(), long, nil))
			wantEvents(t, w.took(), []string{"obtained a", "obtained b", "obtained c"})
			noError(t, lock.Release(t.Context()))
		})
	})

	t.Run("nor one that is over when the others have been refreshed", func(t *testing.T) {
		scenario(t, func(t *testing.T, w *world) {
			slow, slower := ttl/4, ttl*85/100
			first, last := w.relayed(t, 0), w.relayed(t, 1)
			parts := []multi.Part{w.part(0, "a"), w.part(1, "b")}
			w.warmUp(t)
			last.DelayReplies(slow)
			var asked atomic.Int64
			first.OnRequest(func(string, []string) {
				if asked.Add(1) == 1 {
					first.DelayReplies(slow)
				} else {
					first.DelayReplies(slower)
				}
			})
			_, err := multi.Obtain(t.Context(), parts, ttl, nil)
			wantIs(t, err, redislock.ErrNotObtained)
			if !strings.Contains(err.Error(), "its lease was over") || !strings.Contains(err.Error(), "part 2 of 2") {
				t.Errorf("got error %q", err)
			}
			if !slices.Contains(w.took(), "refreshed a") {
				t.Error("the first part was not refreshed")
			}
			w.wantSoonFree(t, "a", "b")
		})
	})

	for _, watchdog := range []bool{false, true} {
		name := map[bool]string{false: "without", true: "with"}[watchdog]
		t.Run("a lease that is over is never returned, "+name+" a watchdog", func(t *testing.T) {
			slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
				// The first part is lost for good while the second is on its way.
				relay.OnRequest(func(name string, args []string) {
					if strings.HasPrefix(name, "EVAL") && slices.Contains(args, w.key("b")) {
						w.rdb.Del(context.Background(), w.key("a"))
						time.Sleep(ttl / 2)
					}
				})
				lock, err := multi.Obtain(t.Context(), w.abc(), ttl, &redislock.Options{Watchdog: watchdog})
				if watchdog {
					// It is told while the second part is asked for, whose outcome is open then.
					wantIs(t, err, redislock.ErrLockLost, redislock.ErrUnknownOutcome)
				} else {
					wantIs(t, err, redislock.ErrNotObtained, redislock.ErrLockNotHeld)
				}
				if lock != nil {
					t.Errorf("got a lock until %v", lock.Deadline())
				}
				w.wantSoonFree(t, "a", "b", "c")
			})
		})
	}
}

func TestUnreachablePart(t *testing.T) {
	t.Run("no answer", func(t *testing.T) {
		slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
			w.warmUp(t)
			relay.DropReplies(true)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			began := time.Now()
			_, err := multi.Obtain(ctx, w.abc(), long, nil)
			wantIs(t, err, redislock.ErrUnknownOutcome, context.DeadlineExceeded)
			if !strings.Contains(err.Error(), "part 2 of 3") {
				t.Errorf("got error %q, want it to name part 2", err)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			w.wantFree(t, "a", "c")
			relay.DropReplies(false)
			w.wantSoonFree(t, "b")
		})
	})

	t.Run("no answer to the release of an earlier part", func(t *testing.T) {
		slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
			// It is not the client that gives up.
			w.clients[1] = w.newClient(t, relay.Client(t, impatient, func(opt *redis.Options) { opt.ReadTimeout = 4 * time.Second }))
			w.warmUp(t)
			other := w.block(t, long, "c")
			defer other.Release(t.Context())
			var evals atomic.Int64
			relay.OnRequest(func(name string, _ []string) {
				if strings.HasPrefix(name, "EVAL") && evals.Add(1) == 2 {
					relay.Blackhole(true) // from the release on
				}
			})
			began := time.Now()
			_, err := multi.Obtain(t.Context(), w.abc(), long, nil)
			wantConflict(t, err, w.key("c"), "part 3 of 3")
			if took := time.Since(began); took > 3*time.Second {
				t.Errorf("it took %v, want about a second", took)
			}
			w.wantFree(t, "a")
			relay.OnRequest(nil)
			relay.Blackhole(false)
			eventually(t, 20*time.Second, "b is free", func() bool {
				return must[int64](t)(w.rdb.Exists(t.Context(), w.key("b")).Result()) == 0
			})
		})
	})

	t.Run("a Refresh that is not answered leaves the others refreshed", func(t *testing.T) {
		slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
			lock := must[*multi.Lock](t)(multi.Obtain(t.Context(), w.abc(), long, nil))
			before := lock.Deadline()
			relay.DropReplies(true)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			err := lock.Refresh(ctx, 2*long)
			wantIs(t, err, redislock.ErrUnknownOutcome)
			wantNot(t, err, redislock.ErrLockNotHeld)
			if d := lock.Deadline(); d.After(before.Add(long / 2)) {
				t.Errorf("got deadline %v after %v, want that of the part that is not known of", d, before)
			}
			for _, name := range []string{"a", "c"} {
				if ttl := must[time.Duration](t)(w.rdb.PTTL(t.Context(), w.key(name)).Result()); ttl <= long {
					t.Errorf("got ttl %v of %q, want it refreshed", ttl, name)
				}
			}
			relay.DropReplies(false)
			noError(t, lock.Release(t.Context()))
		})
	})

	t.Run("loss is told when a server cannot be reached", func(t *testing.T) {
		slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
			lock := must[*multi.Lock](t)(multi.Obtain(t.Context(), w.abc(), time.Second, &redislock.Options{Watchdog: true}))
			held := lock.Context(t.Context())
			relay.Blackhole(true)
			wantLost(t, lock, held)
			w.wantHeld(t, "a", "c")
			relay.Blackhole(false)
			_ = lock.Release(t.Context())
			w.wantSoonFree(t, "a", "b", "c")
		})
	})
}

// Each server of two is killed, or stopped, while the other one works.
func TestServerFaults(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"killed", "paused"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, redistest.Shared(t, redistest.Redis))
			server := redistest.Start(t, redistest.Redis)
			w.clients[1] = w.newClient(t, server.Client(t, impatient))
			far := server.Client(t)
			cycle := func(ctx context.Context, opt *redislock.Options) error {
				lock, err := multi.Obtain(ctx, w.abc(), long, opt)
				if err == nil {
					err = lock.Release(ctx)
				}
				return err
			}
			noError(t, cycle(t.Context(), nil))
			if fault == "killed" {
				server.Kill()
			} else {
				server.Pause()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			err := cycle(ctx, nil)
			if err == nil || !strings.Contains(err.Error(), "part 2 of 3") || errors.Is(err, redislock.ErrNotObtained) {
				t.Errorf("got error %v, want one of part 2", err)
			}
			if unknown := errors.Is(err, redislock.ErrUnknownOutcome); fault == "paused" && !unknown {
				t.Errorf("got error %v, want one of an unknown outcome", err)
			}
			w.wantFree(t, "a", "c")

			// Once it is back, who has asked again all the time has the lock.
			done := make(chan error, 1)
			go func() {
				done <- cycle(t.Context(), &redislock.Options{RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond)})
			}()
			time.Sleep(100 * time.Millisecond) // some rounds
			if fault == "killed" {
				server.Restart()
			} else {
				server.Resume()
			}
			noError(t, <-done)
			w.wantSoonFree(t, "a", "c")
			eventually(t, 15*time.Second, "b is free", func() bool {
				return must[int64](t)(far.Exists(t.Context(), w.key("b")).Result()) == 0
			})
		})
	}
}

// Promise 5: the context ends at each of the commands of an acquisition, before it or after it.
func TestCancelledAnywhere(t *testing.T) {
	for _, queue := range []bool{false, true} {
		t.Run(map[bool]string{false: "asking", true: "in line"}[queue], func(t *testing.T) {
			scenario(t, func(t *testing.T, w *world) {
				var hook atomic.Pointer[func()]
				for place := range w.clients {
					w.relayed(t, place).OnRequest(func(name string, _ []string) {
						if fn := hook.Load(); fn != nil && strings.HasPrefix(name, "EVAL") {
							(*fn)()
						}
					})
				}
				if queue {
					other := w.block(t, long, "c")
					defer other.Release(t.Context())
				}
				opt := &redislock.Options{Queue: queue, Watchdog: queue}
				for _, late := range []bool{false, true} {
					for step := 1; step <= 4; step++ {
						ctx, cancel := context.WithCancel(t.Context())
						var seen atomic.Int64
						fn := func() {
							if seen.Add(1) != int64(step) {
								return
							}
							if late {
								time.AfterFunc(2*time.Millisecond, cancel)
							} else {
								cancel()
							}
						}
						hook.Store(&fn)
						if queue {
							time.AfterFunc(500*time.Millisecond, cancel) // it waits for c
						}
						lock, err := multi.Obtain(ctx, w.abc(), long, opt)
						hook.Store(nil)
						if err == nil {
							err = lock.Release(ctx)
						} else {
							wantIs(t, err, context.Canceled)
						}
						if err != nil && !errors.Is(err, redislock.ErrNotObtained) && !errors.Is(err, redislock.ErrUnknownOutcome) {
							t.Errorf("step %d: got error %v", step, err)
						}
						cancel()
						w.wantSoonFree(t, "a", "b")
						if !queue {
							w.wantSoonFree(t, "c")
						}
					}
				}
				if queue {
					eventually(t, 15*time.Second, "the lines are empty", func() bool { return w.inLine(t, "c") == 0 })
				}
			})
		})
	}
}
