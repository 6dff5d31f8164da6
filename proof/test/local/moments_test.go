package local_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/wire"
	"github.com/seed-14de3678/redislock/internal/world"
)

// wantsAtOnce checks that no time has passed since then.
func wantsAtOnce(t *testing.T, since time.Time) {
	t.Helper()
	if took := time.Since(since); took != 0 {
		t.Errorf("it took %s, want that it ends at once", took)
	}
}

// slowHooks are hooks to which it takes an hour to hear of a Release.
func slowHooks() redislock.ClientOption {
	return redislock.WithHooks(redislock.Hooks{Released: func(context.Context, redislock.Event) { time.Sleep(time.Hour) }})
}

// pages are the names on the contexts with which Releases were sent.
type pages chan string

// see has them noted that a Redis client sends.
func (p pages) see(rdb *redis.Client) pages {
	rdb.AddHook(check.Seeing(func(ctx context.Context, cmd redis.Cmder) {
		if check.RunIn(cmd).Of("release") {
			p <- check.PageOf(ctx)
		}
	}))
	return p
}

// Who gives up, and is passed a hold before it has left, does not wait until the hooks have heard of the Release. It gives the keys
// back with its own context.
func TestPassedOnAfterItsContext(t *testing.T) {
	for range 20 {
		play(t, func(t *testing.T, s *scene) {
			client, seen := world.NewClient(t, s.RDB, slowHooks()), make(pages, 9).see(s.RDB)
			lock := s.obtain(client, passing(time.Minute))
			ctx, cancel := context.WithCancel(check.OnPage(t.Context(), "gives up"))
			s.waits(ctx, client, passing(time.Minute))
			ended, released := time.Now(), make(chan error)
			go func() {
				cancel()
				released <- lock.Release(check.OnPage(t.Context(), "releases"))
			}()
			check.Is(t, s.ends(""), context.Canceled)
			wantsAtOnce(t, ended)
			check.NoError(t, <-released)
			if got := <-seen; got != "gives up" && got != "releases" { // that frees the keys if nobody waits any more
				t.Errorf("the keys are free by a request on page %q", got)
			}
			s.WantNoTrace(t, s.keys...)
		})
	}
}

// Who is given the keys, and panics before it knows, gives them back with its own context. If that has ended it does not wait until
// the hooks have heard of the Release.
func TestGivenToWhoPanics(t *testing.T) {
	for name, gaveUp := range map[string]bool{"it has given up": true, "it goes on": false} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				var lock *redislock.Lock
				var ended time.Time
				released := make(chan error, 1)
				ctx, cancel := context.WithCancel(check.OnPage(t.Context(), "panics"))
				defer cancel()
				hooks := redislock.Hooks{Waiting: func(context.Context, redislock.Event) {
					go func() { released <- lock.Release(check.OnPage(t.Context(), "releases")) }()
					time.Sleep(time.Millisecond)
					if ended = time.Now(); gaveUp {
						cancel()
					}
					panic("the hook")
				}}
				if gaveUp {
					hooks.Released = func(context.Context, redislock.Event) { time.Sleep(time.Hour) }
				}
				client, seen := world.NewClient(t, s.RDB, redislock.WithHooks(hooks)), make(pages, 9).see(s.RDB)
				lock = s.obtain(client, passing(time.Minute))
				func() {
					defer func() {
						if got := recover(); got != any("the hook") {
							t.Errorf("it has panicked with %v", got)
						}
					}()
					_, _ = client.Obtain(ctx, s.keys, world.Long, passing(time.Minute))
				}()
				wantsAtOnce(t, ended)
				check.NoError(t, <-released)
				synctest.Wait()
				if got := <-seen; got != "panics" {
					t.Errorf("the keys were given back on page %q", got)
				}
				s.WantNoTrace(t, s.keys...)
			})
		})
	}
}

// Who is given the keys in the moment in which its strategy ends, and gives up, does not wait until the hooks have heard of the
// Release.
func TestGivesUpWhileItsStrategyEnds(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		client := world.NewClient(t, s.RDB, slowHooks())
		lock := s.obtain(client, options("holder"))
		ctx, cancel := context.WithCancel(t.Context())
		var ended time.Time
		released, waits := make(chan error, 1), 0
		s.waits(ctx, client, &redislock.Options{Metadata: "rests", RetryStrategy: func() redislock.BackOff {
			return backOff(func() time.Duration {
				if waits++; waits == 1 {
					return 3*every + every/2
				}
				go func() { released <- lock.Release(t.Context()) }()
				time.Sleep(time.Millisecond)
				ended = time.Now()
				cancel()
				return -1
			})
		}})
		s.waits(t.Context(), client, polls("asks")) // in place of the other one, too
		check.Is(t, s.ends("rests"), context.Canceled)
		wantsAtOnce(t, ended)
		check.NoError(t, s.wants("asks").Release(t.Context()))
		check.NoError(t, <-released)
		s.WantFree(t, s.keys[0])
	})
}

// Who polls, and is to ask while a Release carries it, ends with its context all the same.
func TestGivesUpWhenDueAndCarried(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		lock := s.obtain(s.Client, polls("holder"))
		s.fails(func(_ redis.Cmder, send func() error) error {
			time.Sleep(time.Second)
			return send()
		})
		ctx, cancel := context.WithCancel(t.Context())
		s.waits(ctx, s.Client, polls("waiter"))
		time.Sleep(every - 5*time.Millisecond) // it asks a millisecond before that is over
		released := make(chan error, 1)
		go func() { released <- lock.Release(t.Context()) }()
		time.Sleep(10 * time.Millisecond)
		ended := time.Now()
		cancel()
		check.Is(t, s.ends("waiter"), context.Canceled)
		wantsAtOnce(t, ended)
		check.NoError(t, <-released)
	})
}

// One that polls asks as often as its strategy says, although a lock of its Client has the keys.
func TestAsksAsItsStrategySays(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		lock := s.obtain(s.Client, options("holder"))
		s.waits(t.Context(), s.Client, polls("waiter"))
		for i := range 4 {
			before := s.sent.Load()
			time.Sleep(every)
			if got := s.sent.Load() - before; got != 1 {
				t.Errorf("it has sent %d scripts in second %d, want 1", got, i+1)
			}
		}
		check.NoError(t, lock.Release(t.Context()))
		check.NoError(t, s.wants("waiter").Release(t.Context()))
		s.WantNoTrace(t, s.keys...)
	})
}

// A lock whose lease is just being changed is not passed on: nobody knows how long it has.
func TestNotPassedOnWhileRefreshed(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		check.NoError(t, s.obtain(s.Client, passing(time.Minute)).Release(t.Context())) // now the server knows the script
		lock := s.obtain(s.Client, passing(time.Minute))
		s.waits(t.Context(), s.Client, passing(time.Minute))
		s.RDB.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			if check.Among(cmds, "refresh") {
				time.Sleep(time.Second)
			}
			return send(cmds)
		}})
		refreshed := make(chan error)
		go func() { refreshed <- lock.Refresh(t.Context(), world.Long) }()
		synctest.Wait()
		s.release(lock, 1)
		check.Is(t, <-refreshed, redislock.ErrLockNotHeld)
		check.NoError(t, s.wants("").Release(t.Context()))
	})
}

// A lock that was lost keeps nobody of its Client back, even while a ReleaseKeys of it is under way.
func TestLostWhileReleased(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.keys = s.Keys("{k}1", "{k}2")
		lock := s.obtain(s.Client, options("first"))
		s.RDB.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			if check.Among(cmds, "release") {
				time.Sleep(time.Second)
			}
			return send(cmds)
		}})
		released := make(chan error)
		go func() { released <- lock.ReleaseKeys(t.Context(), s.keys[:1]) }()
		synctest.Wait()
		check.Must[[]redislock.Holder](t)(s.other.Break(t.Context(), s.keys, "test"))
		check.Is(t, lock.Refresh(t.Context(), world.Long), redislock.ErrLockNotHeld)
		began := time.Now()
		next := s.obtain(s.Client, options("next"))
		wantsAtOnce(t, began)
		check.Is(t, <-released, redislock.ErrLockNotHeld)
		check.NoError(t, next.Release(t.Context()))
	})
}

// An Obtain on a goroutine for which nobody waits stands in Redis by itself.
func TestStaysApart(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		lock := s.obtain(s.Client, options("holder"))
		for _, who := range []string{"first", "second"} {
			s.waits(wire.Stay(t.Context(), time.Minute), s.Client, options(who))
		}
		s.wantLine("first", "second")
		check.NoError(t, lock.Release(t.Context()))
		check.NoError(t, s.wants("first").Release(t.Context()))
		check.NoError(t, s.wants("second").Release(t.Context()))
	})
}

// A hasty context ends when somebody asks for its deadline.
type hasty struct {
	context.Context
	end context.CancelFunc
}

func (h hasty) Deadline() (time.Time, bool) {
	h.end()
	return h.Context.Deadline()
}

// The hooks do not hear that somebody waits whose context ends in the moment in which it would begin to.
func TestNobodyWaitsAfterItsContext(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		client := world.NewClient(t, s.RDB, redislock.WithHooks(redislock.Hooks{
			Waiting: func(context.Context, redislock.Event) { t.Error("it is said to wait") },
		}))
		lock := s.obtain(client, options("holder"))
		ctx, cancel := context.WithCancel(t.Context())
		_, err := client.Obtain(hasty{ctx, cancel}, s.keys, world.Long, options("hasty"))
		check.Is(t, err, context.Canceled)
		check.NoError(t, lock.Release(t.Context()))
	})
}
