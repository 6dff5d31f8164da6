package multi_test

import (
	"context"
	"errors"
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

// impatient has a client give up soon on a reply.
func impatient(opt *redis.Options) { opt.MaxRetries, opt.ReadTimeout = -1, 2*time.Second }

// neverGivesUp has a client wait for a reply without an end.
func neverGivesUp(opt *redis.Options) { opt.MaxRetries, opt.ReadTimeout = -1, long }

// warmUp connects every Client and has the scripts where they are needed, so that every operation is
// one command from then on.
func (w *world) warmUp(t *testing.T) {
	t.Helper()
	lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), long, nil))
	noError(t, lock.Refresh(bounded(t), long))
	noError(t, lock.Release(bounded(t)))
	w.took()
}

// slowly runs fn with the second of the three parts behind a relay.
func slowly(t *testing.T, fn func(t *testing.T, w *world, relay *redistest.Relay)) {
	t.Helper()
	scenario(t, func(t *testing.T, w *world) { fn(t, w, w.relayed(t, 1)) })
}

func TestUnreachablePart(t *testing.T) {
	t.Parallel()
	t.Run("no answer", func(t *testing.T) {
		slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
			w.clients[1] = w.newClient(t, relay.Client(t, neverGivesUp))
			w.warmUp(t)
			relay.DropReplies(true)
			ctx, cancel := context.WithCancel(bounded(t))
			defer cancel()
			relay.OnRequest(func(string, []string) { cancel() }) // the first part is there by then
			began := time.Now()
			_, err := multi.Obtain(ctx, w.abc(), long, nil)
			wantIs(t, err, redislock.ErrUnknownOutcome, context.Canceled)
			if !strings.Contains(err.Error(), "part 2 of 3") {
				t.Errorf("got error %q, want it to name part 2", err)
			}
			if took := time.Since(began); took > soon {
				t.Errorf("it took %v, want it not to wait for the answer", took)
			}
			w.wantFree(t, "a", "c")
			relay.DropReplies(false)
			relay.Cut()
			w.wantSoonFree(t, "b")
		})
	})

	t.Run("no answer to the release of an earlier part", func(t *testing.T) {
		slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
			w.clients[1] = w.newClient(t, relay.Client(t, neverGivesUp))
			w.warmUp(t)
			other := w.block(t, long, "c")
			defer other.Release(bounded(t))
			var evals atomic.Int64
			relay.OnRequest(func(name string, _ []string) {
				if strings.HasPrefix(name, "EVAL") && evals.Add(1) == 2 {
					relay.Blackhole(true) // from the release on
				}
			})
			began := time.Now()
			_, err := multi.Obtain(bounded(t), w.abc(), long, nil)
			wantConflict(t, err, w.key("c"), "part 3 of 3")
			if took := time.Since(began); took > soon {
				t.Errorf("it took %v, want about a second", took)
			}
			w.wantFree(t, "a")
			relay.OnRequest(nil)
			relay.Blackhole(false)
			relay.Cut()
			w.wantSoonFree(t, "b")
		})
	})

	t.Run("a Refresh that is not answered leaves the others refreshed", func(t *testing.T) {
		slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), long, nil))
			before := lock.Deadline()
			relay.DropReplies(true)
			ctx, cancel := context.WithCancel(bounded(t))
			defer cancel()
			relay.OnRequest(func(string, []string) {
				for end := time.Now().Add(soon); w.saw("refreshed a") == 0 || w.saw("refreshed c") == 0; {
					if time.Sleep(time.Millisecond); time.Now().After(end) {
						t.Error("the other parts are not refreshed")
						break
					}
				}
				cancel()
			})
			err := lock.Refresh(ctx, 2*long)
			wantIs(t, err, redislock.ErrUnknownOutcome)
			wantNot(t, err, redislock.ErrLockNotHeld)
			if d := lock.Deadline(); d.After(before.Add(long / 2)) {
				t.Errorf("got deadline %v after %v, want that of the part that is not known of", d, before)
			}
			for _, name := range []string{"a", "c"} {
				if ttl := must[time.Duration](t)(w.rdb.PTTL(bounded(t), w.key(name)).Result()); ttl <= long {
					t.Errorf("got ttl %v of %q, want it refreshed", ttl, name)
				}
			}
			relay.OnRequest(nil)
			relay.DropReplies(false)
			noError(t, lock.Release(bounded(t)))
		})
	})

	t.Run("loss is told when a server cannot be reached", func(t *testing.T) {
		slowly(t, func(t *testing.T, w *world, relay *redistest.Relay) {
			lock := must[*multi.Lock](t)(multi.Obtain(bounded(t), w.abc(), 3*time.Second, &redislock.Options{Watchdog: true}))
			held := lock.Context(bounded(t))
			relay.Blackhole(true)
			wantLost(t, lock, held)
			w.wantHeld(t, "a", "c")
			relay.Blackhole(false)
			_ = lock.Release(bounded(t))
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
			noError(t, cycle(bounded(t), nil))
			if fault == "killed" {
				server.Kill()
			} else {
				server.Pause()
			}
			err := cycle(bounded(t), nil)
			if err == nil || !strings.Contains(err.Error(), "part 2 of 3") || errors.Is(err, redislock.ErrNotObtained) {
				t.Errorf("got error %v, want one of part 2", err)
			}
			if unknown := errors.Is(err, redislock.ErrUnknownOutcome); fault == "paused" && !unknown {
				t.Errorf("got error %v, want one of an unknown outcome", err)
			}
			w.wantFree(t, "a", "c")

			// Once it is back, the caller that has asked again all the time has the lock.
			done := make(chan error, 1)
			go func() {
				done <- cycle(bounded(t), &redislock.Options{RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond)})
			}()
			asked := w.saw("refused b")
			eventually(t, soon, "it is asked again", func() bool { return w.saw("refused b") > asked })
			if fault == "killed" {
				server.Restart()
			} else {
				server.Resume()
			}
			noError(t, receive(t, done))
			w.wantSoonFree(t, "a", "c")
			eventually(t, soon, "b is free", func() bool {
				return must[int64](t)(far.Exists(bounded(t), w.key("b")).Result()) == 0
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
					defer other.Release(bounded(t))
				}
				opt := &redislock.Options{Queue: queue, Watchdog: queue}
				for _, late := range []bool{false, true} {
					for step := 1; step <= 4; step++ {
						ctx, cancel := context.WithCancel(bounded(t))
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
					eventually(t, soon, "the lines are empty", func() bool { return w.inLine(t, "c") == 0 })
				}
			})
		})
	}
}
