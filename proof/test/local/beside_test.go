package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// However many poll, they send what one of them would, and each of them counts the attempts.
func TestPollsAsOne(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		holder := s.obtain(s.other, options("holder"))
		const callers, attempts = 20, 50
		opt := func(who string) *redislock.Options {
			opt := polls(who)
			opt.RetryStrategy = redislock.LimitRetry(opt.RetryStrategy, attempts-1)
			return opt
		}
		client := world.NewClient(t, s.RDB, redislock.WithHooks(redislock.Hooks{
			Refused: func(_ context.Context, e redislock.Event) {
				if e.Attempts != attempts {
					t.Errorf("%d attempts were made for it, want %d", e.Attempts, attempts)
				}
			},
		}))
		ended := make(chan error)
		before := s.sent.Load()
		for i := range callers {
			go func() {
				_, err := client.Obtain(t.Context(), s.keys, world.Long, opt(fmt.Sprint(i)))
				ended <- err
			}()
			time.Sleep(time.Microsecond)
		}
		began := time.Now()
		time.Sleep(10*every + every/2)
		check.NoError(t, holder.Release(t.Context()))
		holder = s.obtain(s.other, options("the next holder"))
		for range callers {
			conflict := world.WantConflict(t, <-ended, s.keys[0], redislock.ModeWrite)
			if conflict.Metadata != "the next holder" {
				t.Errorf("the holder is said to be %q", conflict.Metadata)
			}
		}
		if took, want := time.Since(began), (attempts-1)*every; took < want-time.Millisecond || took > want+every {
			t.Errorf("they have given up after %s, want %s", took, want)
		}
		if got := s.sent.Load() - before; got > callers+attempts+5 {
			t.Errorf("%d scripts, want a first attempt of each, and then one of all at a time", got)
		}
		check.NoError(t, holder.Release(t.Context()))
		s.WantNoTrace(t, s.keys...)
	})
}

// A Release gives to those who poll in the order in which they came, in one command, also if its own lock never waited.
func TestGivesToWhoPolls(t *testing.T) {
	for name, first := range map[string]*redislock.Options{
		"no options": nil, "queue": options("first"), "poll": polls("first"), "number": {Fenced: true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				opt := func(who string) *redislock.Options {
					opt := polls(who)
					opt.Fenced = first != nil && first.Fenced
					return opt
				}
				check.NoError(t, s.obtain(s.Client, first).Release(t.Context())) // now the server knows the script
				lock := s.obtain(s.Client, first)
				for i := range 4 {
					s.waits(t.Context(), s.Client, opt(fmt.Sprint(i)))
				}
				began := time.Now()
				for i := range 4 {
					s.release(lock, 1)
					number := lock.Fence()
					if lock = s.wants(fmt.Sprint(i)); lock.Fence() < number || opt("").Fenced && lock.Fence() == number {
						t.Errorf("got number %d after %d", lock.Fence(), number)
					}
				}
				if took := time.Since(began); took > every/2 {
					t.Errorf("four turns took %s, want that each is given the keys at once", took)
				}
				s.release(lock, 1)
				s.WantFree(t, s.keys[0])
			})
		})
	}
}

// While a lock of the Client has the keys and others poll for them, another one that polls need not ask to be refused.
func TestRefusedHere(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		lock := s.obtain(s.Client, polls("holder"))
		s.waits(t.Context(), s.Client, polls("second")) // it asks, because nobody polls
		check.NoError(t, lock.Release(t.Context()))
		lock = s.wants("second")
		s.waits(t.Context(), s.Client, polls("third"))
		before := s.sent.Load()
		s.waits(t.Context(), s.Client, polls("fourth"))
		if got := s.sent.Load() - before; got != 0 {
			t.Errorf("it has sent %d scripts", got)
		}
		for name, opt := range map[string]*redislock.Options{
			"no options": nil, "NoRetry": {RetryStrategy: redislock.NoRetry(), Wait: time.Hour},
		} {
			before := s.sent.Load()
			_, err := s.Client.Obtain(t.Context(), s.keys, world.Long, opt)
			if conflict := world.WantConflict(t, err, s.keys[0], redislock.ModeWrite); conflict.Metadata != "second" {
				t.Errorf("%s: the holder is said to be %q", name, conflict.Metadata)
			}
			if got := s.sent.Load() - before; got != 1 {
				t.Errorf("%s: a single attempt has sent %d scripts", name, got)
			}
		}
		_, err := s.Client.Obtain(t.Context(), s.keys, world.Long,
			&redislock.Options{RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(time.Millisecond), 2)})
		if conflict := world.WantConflict(t, err, s.keys[0], redislock.ModeWrite); conflict.Metadata != "second" {
			t.Errorf("the holder is said to be %q", conflict.Metadata)
		}
		for _, who := range []string{"third", "fourth"} {
			check.NoError(t, lock.Release(t.Context()))
			lock = s.wants(who)
		}
		check.NoError(t, lock.Release(t.Context()))
		s.WantNoTrace(t, s.keys...)
	})
}

// Who stands in line comes before all who poll, in this Client and in others.
func TestLineComesFirst(t *testing.T) {
	for name, of := range map[string]func(s *scene) *redislock.Client{
		"of this Client": func(s *scene) *redislock.Client { return s.Client },
		"of another one": func(s *scene) *redislock.Client { return s.other },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				lock := s.obtain(s.Client, nil)
				slow := &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Hour), Metadata: "polls"}
				s.waits(t.Context(), s.Client, slow)
				s.waits(t.Context(), of(s), options("queues"))
				time.Sleep(time.Second)
				check.NoError(t, lock.Release(t.Context()))
				lock = s.wants("queues")
				world.WantNobody(t, s.turns)
				check.NoError(t, lock.Release(t.Context()))
				if of(s) == s.Client {
					lock = s.wants("polls")
				} else {
					lock = check.Must[world.Turn](t)(receive(s.turns)).Lock // the lease of another process has ended
				}
				check.NoError(t, lock.Release(t.Context()))
				s.WantNoTrace(t, s.keys...)
			})
		})
	}
}

// What polls and takes no part asks by itself.
func TestPollsAlone(t *testing.T) {
	for name, with := range byThemselves(map[string]obtainer{
		"a set that is read as well": func(ctx context.Context, s *scene, opt *redislock.Options) (*redislock.Lock, error) {
			return s.Client.ObtainSet(ctx, redislock.Set{Write: s.keys, Read: s.Keys("read")}, world.Long, opt)
		},
		"an intent": func(ctx context.Context, s *scene, opt *redislock.Options) (*redislock.Lock, error) {
			opt.Intent = true
			return s.Client.Obtain(ctx, s.keys, world.Long, opt)
		},
	}) {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				lock := s.obtain(s.Client, nil)
				ended := make(chan error)
				const callers, attempts = 3, 5
				before := s.sent.Load()
				for i := range callers {
					go func() {
						opt := polls(fmt.Sprint(i))
						opt.RetryStrategy = redislock.LimitRetry(opt.RetryStrategy, attempts-1)
						_, err := with(t.Context(), s, opt)
						ended <- err
					}()
					time.Sleep(time.Millisecond)
				}
				for range callers {
					check.Is(t, <-ended, redislock.ErrNotObtained)
				}
				if got := s.sent.Load() - before; got < callers*attempts {
					t.Errorf("%d scripts, want %d of each of %d", got, attempts, callers)
				}
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}

// Who may have what it asks for, because one of its requests was not answered, is carried by no Release.
func TestPollsInDoubt(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		check.NoError(t, s.obtain(s.Client, nil).Release(t.Context())) // now the server knows the script
		lock := s.obtain(s.Client, nil)
		var lost atomic.Bool
		s.RDB.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			if check.Among(cmds, "obtain") && !lost.Swap(true) {
				time.Sleep(time.Second) // so that it waits for its answer while the others begin to poll
				return io.EOF
			}
			for _, cmd := range cmds {
				if check.RunIn(cmd).Of("release") && given(cmd) {
					t.Error("the release gives the keys to it")
				}
			}
			return send(cmds)
		}})
		s.waits(t.Context(), s.Client, polls("in doubt"))
		time.Sleep(10 * every)
		s.release(lock, 1)
		time.Sleep(2 * every)
		check.NoError(t, s.wants("in doubt").Release(t.Context()))
		s.WantFree(t, s.keys[0])
	})
}

// Who polls and gives up, or whose Client is closed, says who was in the way, and the others go on.
func TestPollsNoMore(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		lock := s.obtain(s.other, options("holder"))
		ctx, cancel := context.WithCancel(t.Context())
		s.waits(ctx, s.Client, polls("first"))
		s.waits(t.Context(), s.Client, polls("second"))
		cancel()
		err := s.ends("first")
		check.Is(t, err, context.Canceled)
		if conflict, ok := errors.AsType[*redislock.ConflictError](err); !ok || conflict.Metadata != "holder" {
			t.Errorf("got %v, want the holder", err)
		}
		before := s.sent.Load()
		time.Sleep(100 * every)
		if got := s.sent.Load() - before; got < 90 || got > 110 {
			t.Errorf("the second has asked %d times, want 100", got)
		}
		time.Sleep(every / 2)
		began := time.Now()
		s.Client.Close()
		check.Is(t, s.ends("second"), redis.ErrClosed)
		if took := time.Since(began); took != 0 {
			t.Errorf("it ended %s after Close, want at once", took)
		}
		check.NoError(t, lock.Release(t.Context()))
		s.WantNoTrace(t, s.keys...)
	})
}

// Who polls is given the keys by the Release of a lock that knew of nobody when it was obtained.
func TestPollsForAPlainLock(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		client := world.NewClient(t, s.RDB) // without hooks, so that it goes the short way if it can
		lock := s.obtain(client, nil)
		s.waits(t.Context(), client, polls("waiter"))
		time.Sleep(every / 2)
		began := time.Now()
		check.NoError(t, lock.Release(t.Context()))
		next := s.wants("waiter")
		if took := time.Since(began); took != 0 {
			t.Errorf("it was given the keys after %s, want at once", took)
		}
		check.NoError(t, next.Release(t.Context()))
	})
}

// Who need not ask at first, because another one of the Client has the keys, has made an attempt.
func TestPollsCountTheirAttempts(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.obtain(s.Client, options("holder"))
		s.waits(t.Context(), s.Client, polls("first"))
		ctx, cancel := context.WithCancel(t.Context())
		s.waits(ctx, s.Client, polls("second"))
		cancel()
		if err := s.ends("second"); !strings.Contains(err.Error(), "and 1 attempt:") {
			t.Errorf("got %v, want 1 attempt", err)
		}
		s.Client.Close()
		check.Is(t, s.ends("first"), redis.ErrClosed)
	})
}

// Who was told of a fault when it asked goes on by itself, and stands in the way of nobody.
func TestPollsAfterAFault(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		lock := s.obtain(s.Client, options("holder"))
		var failing atomic.Bool
		s.RDB.AddHook(check.Around{Send: func(cmds []redis.Cmder, send func([]redis.Cmder) error) error {
			if !failing.Load() {
				return send(cmds)
			}
			for _, cmd := range cmds {
				cmd.SetErr(world.Refusal("LOADING not yet"))
			}
			return cmds[0].Err()
		}})
		s.waits(t.Context(), s.Client, polls("first"))
		failing.Store(true)
		time.Sleep(10 * every)
		failing.Store(false)
		s.waits(t.Context(), s.Client, polls("second"))
		time.Sleep(10*every + every/2)
		began := time.Now()
		check.NoError(t, lock.Release(t.Context()))
		lock = s.wants("second")
		if took := time.Since(began); took != 0 {
			t.Errorf("the second was given the keys after %s, want at once", took)
		}
		time.Sleep(every)
		check.NoError(t, lock.Release(t.Context()))
		check.NoError(t, s.wants("first").Release(t.Context()))
		s.WantFree(t, s.keys[0])
	})
}

// Nobody waits longer than the lease that is in the way lasts, whatever the strategy says.
func TestPollsWhenTheLeaseIsOver(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		const ttl = 10 * time.Second
		check.Must[*redislock.Lock](t)(s.other.Obtain(t.Context(), s.keys, ttl, nil))
		began := time.Now()
		opt := &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Hour)}
		lock := s.obtain(s.Client, opt)
		if took := time.Since(began); took < ttl || took > ttl+time.Second {
			t.Errorf("it took %s, want %s", took, ttl)
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

// A strategy that ends in the moment in which a Release gives the keys comes too late: the Obtain has them.
func TestGivenWhileItsStrategyEnds(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		lock := s.obtain(s.Client, options("holder"))
		waits := 0
		opt := &redislock.Options{Metadata: "rests", RetryStrategy: func() redislock.BackOff {
			return backOff(func() time.Duration {
				if waits++; waits == 1 {
					return 3*every + every/2
				}
				check.NoError(t, lock.Release(t.Context()))
				return -1
			})
		}}
		s.waits(t.Context(), s.Client, opt)
		s.waits(t.Context(), s.Client, polls("asks")) // in place of the other one, too
		check.NoError(t, s.wants("rests").Release(t.Context()))
		check.NoError(t, s.wants("asks").Release(t.Context()))
		s.WantFree(t, s.keys[0])
	})
}

// A backOff is a BackOff that is one function.
type backOff func() time.Duration

func (b backOff) NextBackOff() time.Duration { return b() }
