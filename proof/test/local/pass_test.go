package local_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/world"
)

// passing are the options of an Obtain that passes its hold on.
func passing(passOn time.Duration) *redislock.Options {
	return &redislock.Options{Queue: true, PassOn: passOn}
}

// For as long as PassOn a hold goes from one to the next without Redis. Each has a lock of its own, with the deadline of the
// hold. Then it is the turn of others.
func TestPassOn(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		const passOn = time.Minute
		check.NoError(t, s.obtain(s.Client, passing(passOn)).Release(t.Context()))
		lock := s.obtain(s.Client, passing(passOn))
		began, deadline := time.Now(), lock.Deadline()
		for range 3 {
			s.waits(t.Context(), s.Client, passing(passOn))
			s.waits(t.Context(), s.other, options("another's"))
			s.release(lock, 0)
			got := s.wants("")
			if got == lock || !got.Deadline().Equal(deadline) {
				t.Errorf("the same lock: %t; its deadline is %s after that of the hold", got == lock, got.Deadline().Sub(deadline))
			}
			if got.Fence() != 0 {
				t.Errorf("it has number %d without Fenced", got.Fence())
			}
			lock = got
		}
		s.waits(t.Context(), s.Client, passing(passOn))
		time.Sleep(passOn - time.Since(began))
		for range 3 {
			check.NoError(t, lock.Release(t.Context()))
			lock = s.wants("another's")
		}
		check.NoError(t, lock.Release(t.Context()))
		lock = s.wants("")
		s.release(lock, 1)
		s.WantNoTrace(t, s.keys...)
	})
}

// A fenced hold takes 16 numbers if somebody waits behind the one that is to have it. Each lock to which it is passed on has the
// next of them. When they are used up the Release carries the next, which takes 16 more.
func TestPassOnWithNumbers(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		opt := passing(time.Minute)
		opt.Fenced = true
		check.NoError(t, s.obtain(s.Client, opt).Release(t.Context()))
		lock := s.obtain(s.Client, opt)
		s.waits(t.Context(), s.Client, opt)
		for turn := range 40 {
			s.waits(t.Context(), s.Client, opt)
			scripts := int64(0)
			if turn%(proto.Block+1) == 0 {
				scripts = 1
			}
			s.release(lock, scripts)
			next := s.wants("")
			if next.Fence() <= lock.Fence() {
				t.Errorf("turn %d has number %d, after %d", turn, next.Fence(), lock.Fence())
			}
			if err := s.Client.Attach(s.keys, "another").RaiseFence(t.Context(), next.Fence()); err == nil {
				t.Error("somebody else has raised the number")
			}
			lock = next
		}
		last := lock.Fence()
		check.NoError(t, lock.Release(t.Context()))
		lock = s.wants("")
		s.release(lock, 1)
		other := s.obtain(s.other, opt)
		if lock.Fence() <= last || other.Fence() <= lock.Fence() {
			t.Errorf("got numbers %d, %d and %d, want each greater than the one before", last, lock.Fence(), other.Fence())
		}
		s.waits(t.Context(), s.other, opt)
		s.waits(t.Context(), s.other, opt)
		s.release(other, 1)
		lock = s.wants("")
		check.NoError(t, lock.RaiseFence(t.Context(), lock.Fence()+100))
		s.release(lock, 1)
		if next := s.wants(""); next.Fence() <= lock.Fence() {
			t.Errorf("got number %d after %d", next.Fence(), lock.Fence())
		}
	})
}

// The block is asked for by the first in line as well, and by one that has to ask again.
func TestBlockIsAskedFor(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		opt := passing(time.Minute)
		opt.Fenced = true
		lock := s.obtain(s.other, &redislock.Options{})
		var asked []bool
		s.RDB.AddHook(check.Around{Before: func(cmd redis.Cmder) {
			if run := check.RunIn(cmd); run.Of("rw") {
				asked = append(asked, run.Obtain.Block)
			}
		}})
		s.waits(t.Context(), s.Client, opt)
		s.waits(t.Context(), s.Client, opt)
		time.Sleep(10 * time.Second)
		check.NoError(t, lock.Release(t.Context()))
		lock = s.wants("")
		if len(asked) < 2 || asked[0] || !asked[len(asked)-1] {
			t.Errorf("it has asked with blocks: %t, want the block once somebody waits behind it", asked)
		}
		check.NoError(t, lock.Release(t.Context()))
		check.NoError(t, s.wants("").Release(t.Context()))
	})
}

// A hold is not passed on if anything but renewals has touched it, to nobody who asks for something else, and not if less than
// half of it is left. Then the Release carries the next.
func TestNotPassedOn(t *testing.T) {
	const passOn = world.Long / 2
	for name, c := range map[string]struct {
		next    *redislock.Options
		before  func(s *scene, lock *redislock.Lock)
		scripts int64
	}{
		"nothing special":         {scripts: 0},
		"half of it is over":      {before: func(*scene, *redislock.Lock) { time.Sleep(world.Long/2 - time.Second) }, scripts: 1},
		"another Metadata":        {next: &redislock.Options{Queue: true, PassOn: passOn, Metadata: "other"}, scripts: 1},
		"another PassOn":          {next: passing(time.Second), scripts: 1},
		"no PassOn":               {next: passing(0), scripts: 1},
		"a Watchdog":              {next: &redislock.Options{Queue: true, PassOn: passOn, Watchdog: true}, scripts: 1},
		"its token was asked for": {before: func(_ *scene, l *redislock.Lock) { l.Token() }, scripts: 1},
		"it was refreshed": {before: func(s *scene, l *redislock.Lock) {
			check.NoError(s.t, l.Refresh(s.t.Context(), world.Long))
		}, scripts: 1},
		"it was asked for its TTL": {before: func(s *scene, l *redislock.Lock) {
			check.Must[time.Duration](s.t)(l.TTL(s.t.Context()))
		}, scripts: 0},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				check.NoError(t, s.obtain(s.Client, passing(passOn)).Release(t.Context()))
				lock := s.obtain(s.Client, passing(passOn))
				if c.before != nil {
					c.before(s, lock)
				}
				if c.next == nil {
					c.next = passing(passOn)
				}
				s.waits(t.Context(), s.Client, c.next)
				s.release(lock, c.scripts)
				next := s.wants(c.next.Metadata)
				check.NoError(t, next.Release(t.Context()))
				s.WantNoTrace(t, s.keys...)
			})
		})
	}
}

// A lock that was passed on has ended: it has no token, sends nothing, and cannot harm the next one.
func TestPassedOnHasEnded(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		lock := s.obtain(s.Client, passing(time.Minute))
		ctx, lost := lock.Context(t.Context()), lock.Lost()
		s.waits(t.Context(), s.Client, passing(time.Minute))
		check.NoError(t, lock.Release(t.Context()))
		next := s.wants("")
		before := s.sent.Load()
		if token := lock.Token(); token != "" {
			t.Error("it has a token")
		}
		for name, err := range map[string]error{
			"Refresh": lock.Refresh(t.Context(), time.Second), "Downgrade": lock.Downgrade(t.Context()),
			"Release": lock.Release(t.Context()), "ReleaseKeys": lock.ReleaseKeys(t.Context(), s.keys),
			"Leave": lock.Leave(t.Context(), time.Hour), "TTL": second(lock.TTL(t.Context())),
		} {
			if !errors.Is(err, redislock.ErrLockNotHeld) || !strings.HasSuffix(err.Error(), "it was released already") {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if got := s.sent.Load() - before; got != 0 {
			t.Errorf("it has sent %d scripts", got)
		}
		if !errors.Is(context.Cause(ctx), context.Canceled) {
			t.Errorf("its context has ended with %v", context.Cause(ctx))
		}
		select {
		case <-lost:
			t.Error("it counts as lost")
		default:
		}
		check.Must[time.Duration](t)(next.TTL(t.Context()))
		if next.Token() == "" {
			t.Error("the next one has no token")
		}
		check.NoError(t, next.Release(t.Context()))
		s.WantNoTrace(t, s.keys...)
	})
}

func second(_ time.Duration, err error) error { return err }

// The watchdog of the hold is that of whoever has it.
func TestPassedOnIsRenewed(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		opt := &redislock.Options{Queue: true, PassOn: 5 * time.Second, Watchdog: true}
		obtain := func() *redislock.Lock {
			return check.Must[*redislock.Lock](t)(s.Client.Obtain(t.Context(), s.keys, 10*time.Second, opt))
		}
		lock, next := obtain(), make(chan *redislock.Lock)
		go func() { next <- obtain() }()
		time.Sleep(10 * time.Millisecond)
		s.release(lock, 0)
		lock = <-next
		ctx := lock.Context(t.Context())
		time.Sleep(time.Minute)
		if ctx.Err() != nil {
			t.Fatalf("lost: %v", context.Cause(ctx))
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

// Who gives up in the moment in which it is passed a hold gives the keys back.
func TestGivesUpWhenPassedOn(t *testing.T) {
	for range 50 {
		play(t, func(t *testing.T, s *scene) {
			lock := s.obtain(s.Client, passing(time.Minute))
			ctx, cancel := context.WithCancel(t.Context())
			s.waits(ctx, s.Client, passing(time.Minute))
			go cancel()
			check.NoError(t, lock.Release(t.Context()))
			if got := <-s.turns; got.Err == nil {
				check.NoError(t, got.Lock.Release(t.Context()))
			}
			synctest.Wait()
			s.WantNoTrace(t, s.keys...)
		})
	}
}

// Who is told late that it has the keys has at least half of the ttl all the same: it asks, if less would be left. Its new hold may
// be passed on as any other.
func TestToldLate(t *testing.T) {
	for _, passOn := range []time.Duration{0, time.Minute} {
		for late, scripts := range map[time.Duration]int64{world.Long * 4 / 10: 1, world.Long * 6 / 10: 2} {
			if passOn > 0 && scripts == 1 {
				scripts = 0
			}
			t.Run(fmt.Sprintf("PassOn %s, after %s", passOn, late), func(t *testing.T) {
				play(t, func(t *testing.T, s *scene) {
					var isSlow atomic.Bool
					slow := redislock.Hooks{Released: func(context.Context, redislock.Event) {
						if isSlow.Swap(false) {
							time.Sleep(late)
						}
					}}
					client := world.NewClient(t, s.RDB, redislock.WithHooks(slow))
					check.NoError(t, s.obtain(client, passing(passOn)).Release(t.Context()))
					lock := s.obtain(client, passing(passOn))
					s.waits(t.Context(), client, passing(passOn))
					isSlow.Store(true)
					s.release(lock, scripts)
					next := s.wants("")
					if left := time.Until(next.Deadline()); left < world.Long/2 {
						t.Errorf("%s of %s is left", left, world.Long)
					}
					if passOn > 0 && scripts > 0 {
						s.waits(t.Context(), client, passing(passOn))
						s.release(next, 0)
						next = s.wants("")
					}
					check.NoError(t, next.Release(t.Context()))
					s.WantNoTrace(t, s.keys...)
				})
			})
		}
	}
}

// Of two Releases at the same time one passes the hold on, and the other takes nothing from whoever has it then.
func TestReleasedTwiceAtOnce(t *testing.T) {
	for range 300 {
		play(t, func(t *testing.T, s *scene) {
			lock := s.obtain(s.Client, passing(time.Minute))
			s.waits(t.Context(), s.Client, passing(time.Minute))
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					if err := lock.Release(t.Context()); err != nil && !errors.Is(err, redislock.ErrLockNotHeld) {
						t.Error(err)
					}
				})
			}
			both.Wait()
			next := s.wants("")
			check.Must[time.Duration](t)(next.TTL(t.Context()))
			check.NoError(t, next.Release(t.Context()))
		})
	}
}

// Bad values of PassOn are refused, and nothing is sent.
func TestPassOnIsChecked(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		for name, opt := range map[string]redislock.Options{
			"negative":         {Queue: true, PassOn: -time.Second},
			"more than half":   {Queue: true, PassOn: world.Long/2 + time.Millisecond},
			"without Queue":    {PassOn: time.Second},
			"with HoldAtLeast": {Queue: true, PassOn: time.Second, HoldAtLeast: time.Second},
		} {
			lock, err := s.Client.Obtain(t.Context(), s.keys, world.Long, &opt)
			if lock != nil || !errors.Is(err, &redislock.InvalidError{Argument: "PassOn"}) {
				t.Errorf("%s: got %v and %v", name, lock, err)
			}
		}
		if got := s.sent.Load(); got != 0 {
			t.Errorf("%d scripts were sent", got)
		}
	})
}
