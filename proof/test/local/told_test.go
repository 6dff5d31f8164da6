package local_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Nobody is given the keys of another set, however alike the two are, and whoever wants a number has one.
func TestGivenItsOwnSet(t *testing.T) {
	for name, c := range map[string]struct {
		held, wanted []string
		fenced       bool
	}{
		"another second key":          {[]string{"{k}a", "{k}b"}, []string{"{k}a", "{k}c"}, false},
		"keys of other lengths":       {[]string{"{k}a", "{k}", "b:{k}c"}, []string{"{k}a", "{k}b:", "{k}c"}, false},
		"the same joined by a colon":  {[]string{"{k}a", "{k}b", "{k}c:{k}d"}, []string{"{k}a", "{k}b:{k}c", "{k}d"}, false},
		"the same keys with a number": {[]string{"{k}a"}, []string{"{k}a"}, true},
	} {
		inEachWay(t, name, func(t *testing.T, s *scene, options func(string) *redislock.Options) {
			s.keys = c.held
			lock := s.obtain(s.Client, options("first"))
			opt := options("next")
			opt.Fenced = c.fenced
			s.keys = c.wanted
			s.waits(t.Context(), s.Client, opt)
			check.NoError(t, lock.Release(t.Context()))
			lock = s.wants("next")
			for _, state := range check.Must[[]redislock.KeyState](t)(s.other.Inspect(t.Context(), c.wanted)) {
				if len(state.Holders) != 1 || state.Holders[0].Metadata != "next" {
					t.Errorf("%q is held by %+v", state.Key, state.Holders)
				}
			}
			if (lock.Fence() > 0) != c.fenced {
				t.Errorf("got number %d", lock.Fence())
			}
			check.NoError(t, lock.Release(t.Context()))
		})
	}
}

// The hooks hear at once that an Obtain waits behind others, and who is in its way, as far as that is known. They count what was
// asked for it: nothing if a hold was passed on.
func TestHooksOfWhoWaits(t *testing.T) {
	for name, c := range map[string]struct {
		options  func(who string) *redislock.Options
		attempts int
	}{
		"queue":   {options, 1},
		"poll":    {polls, 2},
		"PassOn":  {func(string) *redislock.Options { return passing(time.Minute) }, 0},
		"refused": {func(who string) *redislock.Options { return limited(who, 2) }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				waiting, attempts := make(chan error, 9), make(chan int, 9)
				ended := func(_ context.Context, e redislock.Event) { attempts <- e.Attempts }
				client := world.NewClient(t, s.RDB, redislock.WithHooks(redislock.Hooks{
					Waiting:  func(_ context.Context, e redislock.Event) { waiting <- e.Err },
					Obtained: ended, Refused: ended,
				}))
				lock := s.obtain(client, c.options("holder"))
				<-attempts
				go func() {
					lock, err := client.Obtain(t.Context(), s.keys, world.Long, c.options("next"))
					s.turns <- world.Turn{Who: "next", Lock: lock, Err: err}
				}()
				conflict := world.WantConflict(t, <-waiting, s.keys[0], redislock.ModeWrite)
				if conflict.Metadata != c.options("holder").Metadata {
					t.Errorf("the holder is said to be %q", conflict.Metadata)
				}
				synctest.Wait()
				if name == "refused" {
					check.Is(t, s.ends("next"), redislock.ErrNotObtained)
					check.NoError(t, lock.Release(t.Context()))
				} else {
					check.NoError(t, lock.Release(t.Context()))
					check.NoError(t, s.wants("next").Release(t.Context()))
				}
				if got := <-attempts; got != c.attempts {
					t.Errorf("%d attempts were made for it, want %d", got, c.attempts)
				}
			})
		})
	}
}

// limited are the options of one that polls and gives up.
func limited(who string, retries int) *redislock.Options {
	opt := polls(who)
	opt.RetryStrategy = redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), retries)
	return opt
}

// Who waits behind a request that takes long is told that it was not obtained so far. When its time is over it asks once, and has the
// lock if the keys are free.
func TestAsksOnceInTheEnd(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		var waiting error
		client := world.NewClient(t, s.RDB, redislock.WithHooks(redislock.Hooks{
			Waiting: func(_ context.Context, e redislock.Event) { waiting = e.Err },
		}))
		var slow atomic.Bool
		slow.Store(true)
		s.RDB.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			if check.Among(cmds, "rw", "obtain") && slow.Swap(false) {
				time.Sleep(50 * time.Millisecond)
			}
			return send(cmds)
		}})
		within := func(who string, wait time.Duration) *redislock.Options {
			return &redislock.Options{Queue: true, Metadata: who, Wait: wait}
		}
		s.waits(t.Context(), client, within("first", time.Hour))
		s.waits(t.Context(), client, within("second", 5*time.Millisecond))
		lock := s.wants("second")
		check.Is(t, waiting, redislock.ErrNotObtained)
		if _, is := errors.AsType[*redislock.ConflictError](waiting); is {
			t.Errorf("it is told of %v, and nobody was in its way", waiting)
		}
		check.NoError(t, lock.Release(t.Context()))
		check.NoError(t, s.wants("first").Release(t.Context()))
	})
}

// Who has little time asks in half of it, although a lock of its Client has the keys.
func TestAsksInHalfOfItsTime(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		lock := s.obtain(s.Client, options("holder"))
		before := s.sent.Load()
		s.waits(t.Context(), s.Client, &redislock.Options{Queue: true, Metadata: "next", Wait: 20 * time.Millisecond})
		time.Sleep(12 * time.Millisecond)
		synctest.Wait()
		if s.sent.Load() == before {
			t.Error("it has not asked")
		}
		check.Is(t, s.ends("next"), redislock.ErrWaitOver)
		check.NoError(t, lock.Release(t.Context()))
	})
}

// Who gives up while a Release is under way says who has the keys by then, and not whose they were.
func TestGivesUpDuringARelease(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		check.NoError(t, s.obtain(s.Client, options("first")).Release(t.Context())) // now the server knows the script
		lock := s.obtain(s.Client, options("first"))
		s.fails(func(_ redis.Cmder, send func() error) error {
			err := send()
			time.Sleep(50 * time.Millisecond)
			return err
		})
		s.waits(t.Context(), s.Client, options("second"))
		ctx, cancel := context.WithCancel(t.Context())
		s.waits(ctx, s.Client, options("third"))
		released := make(chan error)
		go func() { released <- lock.Release(t.Context()) }()
		time.Sleep(10 * time.Millisecond)
		cancel()
		err := s.ends("third")
		check.Is(t, err, context.Canceled)
		if conflict := world.WantConflict(t, err, s.keys[0], redislock.ModeWrite); conflict.Metadata != "second" {
			t.Errorf("the holder is said to be %q", conflict.Metadata)
		}
		check.NoError(t, <-released)
		check.NoError(t, s.wants("second").Release(t.Context()))
		s.WantNoTrace(t, s.keys...)
	})
}
