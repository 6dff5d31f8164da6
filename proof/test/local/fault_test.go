package local_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// fails says what becomes of the first Release of the Client that is to give its keys to somebody.
func (s *scene) fails(does func(cmd redis.Cmder, send func() error) error) {
	var failed atomic.Bool
	s.RDB.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
		for _, cmd := range cmds {
			if check.RunIn(cmd).Of("release") && given(cmd) && !failed.Swap(true) {
				return does(cmd, func() error { return send(cmds) })
			}
		}
		return send(cmds)
	}})
}

// given reports whether a Release is to give its keys to somebody.
func given(cmd redis.Cmder) bool {
	for _, arg := range cmd.Args() {
		if arg == ">" {
			return true
		}
	}
	return false
}

// What carries the next one may be lost in every way. Each gets the keys once, nobody waits for ever, and nothing is left.
func TestCarriedIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		does func(s *scene, cmd redis.Cmder, send func() error) error
	}{
		"its reply": {func(_ *scene, _ redis.Cmder, send func() error) error {
			_ = send()
			return io.EOF
		}},
		"it was not sent": {func(*scene, redis.Cmder, func() error) error { return io.EOF }},
		"it is executed while the next holds": {func(s *scene, cmd redis.Cmder, _ func() error) error {
			time.AfterFunc(300*time.Millisecond, func() { s.late(cmd) })
			return io.EOF
		}},
		"it is executed after all": {func(s *scene, cmd redis.Cmder, _ func() error) error {
			time.AfterFunc(10*time.Second, func() { s.late(cmd) })
			return io.EOF
		}},
		"its reply is slow": {func(_ *scene, _ redis.Cmder, send func() error) error {
			err := send()
			time.Sleep(500 * time.Millisecond)
			return err
		}},
		"it is slow": {func(_ *scene, _ redis.Cmder, send func() error) error {
			time.Sleep(500 * time.Millisecond)
			return send()
		}},
		"the server refuses it": {func(_ *scene, cmd redis.Cmder, _ func() error) error {
			err := world.Refusal("LOADING Redis is loading the dataset in memory")
			cmd.SetErr(err)
			return err
		}},
		"the server fails in it": {func(_ *scene, cmd redis.Cmder, send func() error) error {
			_ = send()
			err := world.Refusal("ERR user_script:1: something in the script")
			cmd.SetErr(err)
			return err
		}},
		"something else answers": {func(_ *scene, cmd redis.Cmder, _ func() error) error {
			check.Answer(cmd, "PONG")
			return nil
		}},
	} {
		inEachWay(t, name, func(t *testing.T, s *scene, options func(string) *redislock.Options) {
			check.NoError(t, s.obtain(s.Client, options("first")).Release(t.Context())) // now the server knows the script
			lock := s.obtain(s.Client, options("first"))
			s.fails(func(cmd redis.Cmder, send func() error) error { return c.does(s, cmd, send) })
			s.waits(t.Context(), s.Client, options("second"))
			s.waits(t.Context(), s.Client, options("third"))
			s.waits(t.Context(), s.other, options("another's"))
			_ = lock.Release(t.Context()) // its outcome may not be known
			for range 3 {
				got := check.Must[world.Turn](t)(receive(s.turns))
				check.NoError(t, got.Err)
				for range 10 {
					time.Sleep(100 * time.Millisecond)
					state := check.Must[[]redislock.KeyState](t)(s.other.Inspect(t.Context(), s.keys))[0]
					if len(state.Holders) != 1 || state.Holders[0].Metadata != got.Who {
						t.Fatalf("%s has a turn, and the key is held by %+v", got.Who, state.Holders)
					}
				}
				check.NoError(t, got.Lock.Release(t.Context()))
			}
			time.Sleep(time.Minute)
			if left := check.WithoutGuards(t.Context(), s.RDB, s.keys[0], "redislock:line:{"+s.keys[0]+"}"); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
}

// late executes a command that was not answered.
func (s *scene) late(cmd redis.Cmder) {
	rdb := s.RDB.WithTimeout(time.Minute)
	_ = rdb.Do(context.Background(), cmd.Args()...).Err()
}

// Who gives up while a Release carries it has nothing afterwards, and what it was given is the next one's.
func TestGivesUpWhileCarried(t *testing.T) {
	for name, executed := range map[string]bool{"before it is executed": false, "after that": true} {
		inEachWay(t, name, func(t *testing.T, s *scene, options func(string) *redislock.Options) {
			lock := s.obtain(s.Client, options("first"))
			under, goOn := make(chan struct{}), make(chan struct{})
			s.fails(func(_ redis.Cmder, send func() error) error {
				var err error
				if executed {
					err = send()
				}
				close(under)
				<-goOn
				if !executed {
					err = send()
				}
				return err
			})
			ctx, cancel := context.WithCancel(t.Context())
			s.waits(ctx, s.Client, options("second"))
			s.waits(t.Context(), s.Client, options("third"))
			released := make(chan error)
			go func() { released <- lock.Release(t.Context()) }()
			<-under
			began := time.Now()
			cancel()
			check.Is(t, s.ends("second"), context.Canceled)
			if took := time.Since(began); took > 200*time.Millisecond {
				t.Errorf("it has ended %s after its context", took)
			}
			close(goOn)
			check.NoError(t, <-released)
			s.release(s.wants("third"), 1)
			time.Sleep(time.Minute)
			if left := check.WithoutGuards(t.Context(), s.RDB, s.keys[0], "redislock:line:{"+s.keys[0]+"}"); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
}

// A Release whose context has ended carries the next all the same, and a hook that panics loses nobody a turn.
func TestReleasedByTheWay(t *testing.T) {
	for name, release := range map[string]func(s *scene, lock *redislock.Lock){
		"its context has ended": func(s *scene, lock *redislock.Lock) {
			ctx, cancel := context.WithCancel(s.t.Context())
			cancel()
			check.NoError(s.t, lock.Release(ctx))
		},
		"With panics": func(s *scene, lock *redislock.Lock) {
			check.NoError(s.t, lock.Release(s.t.Context()))
			go func() {
				defer func() { _ = recover() }()
				_ = s.Client.With(s.t.Context(), s.keys, world.Long, options("panics"), func(context.Context) error { panic("test") })
			}()
			synctest.Wait()
		},
	} {
		inEachWay(t, name, func(t *testing.T, s *scene, options func(string) *redislock.Options) {
			lock := s.obtain(s.Client, options("first"))
			s.waits(t.Context(), s.Client, options("second"))
			release(s, lock)
			check.NoError(t, s.wants("second").Release(t.Context()))
			synctest.Wait()
			s.WantNoTrace(t, s.keys...)
		})
	}
}

// If nobody answers, those who wait behind others ask by themselves, and give up as they would alone.
func TestSilentServer(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		var silent atomic.Bool
		s.RDB.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			if silent.Load() && check.Among(cmds, "rw", "obtain") {
				time.Sleep(time.Minute)
				return errors.New("i/o timeout")
			}
			return send(cmds)
		}})
		lock := s.obtain(s.other, options("holder"))
		silent.Store(true)
		began := time.Now()
		for _, who := range []string{"first", "second", "third"} {
			s.waits(t.Context(), s.Client, &redislock.Options{Queue: true, Metadata: who, Wait: 5 * time.Second})
		}
		for range 3 {
			got := check.Must[world.Turn](t)(receive(s.turns))
			check.Is(t, got.Err, redislock.ErrWaitOver)
			if took := time.Since(began); took > 6*time.Second {
				t.Errorf("%s has ended after %s", got.Who, took)
			}
		}
		silent.Store(false)
		check.NoError(t, lock.Release(t.Context()))
	})
}

// Only the first try of a Release gives its keys to somebody: the answer to a later one would not say which of them has.
func TestFirstTryGives(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		check.NoError(t, s.obtain(s.Client, options("first")).Release(t.Context())) // now the server knows the script
		lock := s.obtain(s.Client, options("first"))
		ctx, cancel := context.WithCancel(t.Context())
		var tries []bool
		s.RDB.AddHook(check.Around{Before: func(cmd redis.Cmder) {
			if check.RunIn(cmd).Of("release") {
				tries = append(tries, given(cmd))
			}
		}})
		s.fails(func(cmd redis.Cmder, _ func() error) error {
			cancel()
			err := world.Refusal("LOADING Redis is loading the dataset in memory")
			cmd.SetErr(err)
			return err
		})
		s.waits(ctx, s.Client, options("second"))
		s.waits(t.Context(), s.Client, options("third"))
		check.NoError(t, lock.Release(t.Context()))
		if len(tries) < 2 || !tries[0] || slices.Contains(tries[1:], true) {
			t.Errorf("the tries were to give the keys: %t, want only the first", tries)
		}
		check.Is(t, s.ends("second"), context.Canceled)
		check.NoError(t, s.wants("third").Release(t.Context()))
	})
}
