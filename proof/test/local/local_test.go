package local_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Of those of one Client one stands in Redis, however many wait, and they have their turns in the order in which they came.
func TestOneStands(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		holder := s.obtain(s.other, options("holder"))
		const most = 50
		for i := range most {
			s.waits(t.Context(), s.Client, options(fmt.Sprint(i)))
		}
		s.wantLine("0")
		before := s.sent.Load()
		time.Sleep(time.Minute)
		if rounds := s.sent.Load() - before; rounds > 30 {
			t.Errorf("%d scripts in a minute in which nothing moved", rounds)
		}
		for i := range most {
			check.NoError(t, holder.Release(t.Context()))
			holder = s.wants(fmt.Sprint(i))
		}
		check.NoError(t, holder.Release(t.Context()))
		s.WantNoTrace(t, s.keys...)
	})
}

// The same where all have asked already, by the short way and at once, when they are refused.
func TestOneStandsOfThoseWhoAskedAtOnce(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		holder := s.obtain(s.other, options("holder"))
		s.RDB.AddHook(check.Around{Before: func(redis.Cmder) { time.Sleep(time.Millisecond) }})
		client := world.NewClient(t, s.RDB) // without hooks, so that it goes the short way
		const most = 10
		for i := range most {
			go func() {
				lock, err := client.Obtain(t.Context(), s.keys, world.Long, options(fmt.Sprint(i)))
				s.turns <- world.Turn{Lock: lock, Err: err}
			}()
		}
		time.Sleep(time.Second)
		if line := s.line(); len(line) != 1 {
			t.Errorf("%q stand in line, want one of them", line)
		}
		for range most {
			check.NoError(t, holder.Release(t.Context()))
			holder = s.wants("")
		}
		check.NoError(t, holder.Release(t.Context()))
	})
}

// Who gives up returns as soon as it has left the line.
func TestGivesUpAtOnce(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		lock := s.obtain(s.other, options("holder"))
		ctx, cancel := context.WithCancel(t.Context())
		s.waits(ctx, s.Client, options("waiter"))
		time.Sleep(time.Second)
		began := time.Now()
		cancel()
		check.Is(t, s.ends("waiter"), context.Canceled)
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %s", took)
		}
		s.wantLine()
		check.NoError(t, lock.Release(t.Context()))
	})
}

// A waiter whose messages are heard already, because others of its Client wait for other keys, enters its line with its first request.
func TestEntersWhereMessagesAreHeard(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		for i, most := range []int64{3, 1} {
			s.keys = s.Keys(fmt.Sprint("k", i))
			s.obtain(s.other, options("holder"))
			before := s.sent.Load()
			s.waits(t.Context(), s.Client, options("waiter"))
			if got := s.sent.Load() - before; got > most {
				t.Errorf("waiter %d has sent %d scripts, want at most %d", i, got, most)
			}
			s.wantLine("waiter")
		}
		s.Client.Close()
		for range 2 {
			check.Is(t, s.ends("waiter"), redis.ErrClosed)
		}
	})
}

// A turn within a Client takes one command: the Release gives the keys to the next, with its own value, ttl and number.
func TestOneCommand(t *testing.T) {
	for name, c := range map[string]struct {
		keys   []string
		fenced bool
	}{
		"one key":              {[]string{"k"}, false},
		"a set":                {[]string{"{k}1", "{k}2", "{k}3"}, false},
		"one key, with number": {[]string{"k"}, true},
		"a set, with number":   {[]string{"{k}1", "{k}2"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				s.keys = s.Keys(c.keys...)
				opt := func(who string) *redislock.Options {
					return &redislock.Options{Queue: true, Metadata: who, Fenced: c.fenced}
				}
				check.NoError(t, s.obtain(s.Client, opt("")).Release(t.Context())) // now the server knows the script
				lock, number := s.obtain(s.Client, opt("first")), int64(0)
				for i := range 5 {
					who := fmt.Sprint(i)
					s.waits(t.Context(), s.Client, opt(who))
					s.wantLine()
					began := time.Now()
					s.release(lock, 1)
					lock = s.wants(who)
					state := check.Must[[]redislock.KeyState](t)(s.other.Inspect(t.Context(), s.keys))
					for _, key := range state {
						if len(key.Holders) != 1 || key.Holders[0].Metadata != who || key.TTL < world.Long-time.Second {
							t.Errorf("%q is held by %+v for %s", key.Key, key.Holders, key.TTL)
						}
					}
					if left := lock.Deadline().Sub(began); left > world.Long {
						t.Errorf("the deadline is %s after the release began", left)
					}
					if got := lock.Fence(); c.fenced && got <= number {
						t.Errorf("got number %d after %d", got, number)
					}
					number = lock.Fence()
				}
				s.release(lock, 1)
				for _, key := range s.keys {
					s.WantFree(t, key, "redislock:line:{"+key+"}")
				}
			})
		})
	}
}

// The answer to a Release says who is next, if that is one of its Client. Then nothing is published.
func TestNextIsToldWithTheAnswer(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		all := s.RDB.PSubscribe(t.Context(), "*")
		defer func() { check.NoError(t, all.Close()) }()
		check.Must[any](t)(all.Receive(t.Context()))
		published := all.Channel()
		client := world.NewClient(t, s.RDB) // without hooks, so that it goes the short way if it can
		lock := s.obtain(client, nil)
		s.keys = append(s.keys, s.Key("another"))
		s.waits(t.Context(), client, options("waiter"))
		s.wantLine("waiter")
		check.NoError(t, lock.Release(t.Context()))
		check.NoError(t, s.wants("waiter").Release(t.Context()))
		synctest.Wait()
		for len(published) > 0 {
			if m := <-published; m.Payload != "" { // which only asks whether somebody hears the channel
				t.Errorf("%q was published", m.Payload)
			}
		}
	})
}

// Nobody of another Client is passed who came before.
func TestOrderAmongClients(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		lock := s.obtain(s.Client, options("first"))
		s.waits(t.Context(), s.Client, options("mine"))
		s.waits(t.Context(), s.other, options("another's"))
		s.waits(t.Context(), s.Client, options("mine, later"))
		s.wantLine("another's")
		for _, who := range []string{"mine", "another's", "mine, later"} {
			check.NoError(t, lock.Release(t.Context()))
			lock = s.wants(who)
		}
		s.release(lock, 1)
		s.WantNoTrace(t, s.keys...)
	})
}

// Who is told to ask stands in Redis where it came, also before others who are there already.
func TestPlaceOfArrival(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		lock := s.obtain(s.Client, options("first"))
		s.waits(t.Context(), s.Client, options("mine"))
		s.waits(t.Context(), s.other, options("another's"))
		s.wantLine("another's")
		time.Sleep(30 * time.Millisecond)
		synctest.Wait()
		s.wantLine("mine", "another's")
		check.NoError(t, lock.Release(t.Context()))
		lock = s.wants("mine")
		check.NoError(t, lock.Release(t.Context()))
		s.release(s.wants("another's"), 1)
	})
}

// These ask by themselves.
func TestApart(t *testing.T) {
	for name, with := range byThemselves(map[string]obtainer{
		"other sets": func(ctx context.Context, s *scene, opt *redislock.Options) (*redislock.Lock, error) {
			return s.Client.Obtain(ctx, append([]string{s.Key(opt.Metadata)}, s.keys...), world.Long, opt)
		},
	}) {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				lock := s.obtain(s.Client, options("first"))
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				for i := range 3 {
					wg.Go(func() {
						lock, err := with(ctx, s, options(fmt.Sprint(i)))
						if err == nil {
							err = lock.Release(context.Background())
						}
						if err != nil && !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
					})
				}
				synctest.Wait()
				if got := s.line(); len(got) != 3 {
					t.Errorf("in line: %q, want all three", got)
				}
				cancel()
				wg.Wait()
				check.NoError(t, lock.Release(t.Context()))
			})
		})
	}
}

// Who gives up says who is in the way, and lets those behind it move up.
func TestGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		holder func(s *scene) *redislock.Client
		asks   int64 // scripts of who gives up
	}{
		"a lock of the Client is in the way": {func(s *scene) *redislock.Client { return s.Client }, 0},
		"the first stands for long":          {func(s *scene) *redislock.Client { return s.other }, 1},
	} {
		for _, bounded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, Wait: %t", name, bounded), func(t *testing.T) {
				play(t, func(t *testing.T, s *scene) {
					lock := s.obtain(c.holder(s), options("holder"))
					s.waits(t.Context(), s.Client, options("first"))
					time.Sleep(time.Second)
					ctx, cancel := context.WithCancel(t.Context())
					opt, cause := options("second"), context.Canceled
					if bounded {
						opt.Wait, cause = 5*time.Millisecond, redislock.ErrWaitOver
					}
					s.waits(ctx, s.Client, opt)
					s.waits(t.Context(), s.Client, options("third"))
					before := s.sent.Load()
					if !bounded {
						cancel()
					}
					err := s.ends("second")
					cancel()
					check.Is(t, err, cause)
					world.WantConflict(t, err, s.keys[0], redislock.ModeWrite)
					if got := s.sent.Load() - before; got != c.asks {
						t.Errorf("it has sent %d scripts, want %d", got, c.asks)
					}
					s.wantLine("first")
					check.NoError(t, lock.Release(t.Context()))
					check.NoError(t, s.wants("first").Release(t.Context()))
					check.NoError(t, s.wants("third").Release(t.Context()))
					s.WantNoTrace(t, s.keys...)
				})
			})
		}
	}
}

// A Release that leaves something, or does not have the set as it was taken, gives nothing.
func TestNotGiven(t *testing.T) {
	for name, c := range map[string]struct {
		opt  redislock.Options
		ends func(s *scene, lock *redislock.Lock) error
		rest time.Duration // the keys are left for so long
	}{
		"Leave":       {ends: func(s *scene, l *redislock.Lock) error { return l.Leave(s.t.Context(), time.Minute) }, rest: time.Minute},
		"HoldAtLeast": {opt: redislock.Options{HoldAtLeast: time.Minute}, ends: (*scene).end, rest: 50 * time.Second},
		"ReleaseKeys": {ends: func(s *scene, l *redislock.Lock) error { return l.ReleaseKeys(s.t.Context(), s.keys) }},
		"Downgrade": {ends: func(s *scene, l *redislock.Lock) error {
			return errors.Join(l.Downgrade(s.t.Context()), l.Release(s.t.Context()))
		}},
		"Break": {ends: func(s *scene, l *redislock.Lock) error {
			_, err := s.other.Break(s.t.Context(), s.keys, "test")
			if failed := l.Release(s.t.Context()); !errors.Is(failed, redislock.ErrLockNotHeld) {
				err = errors.Join(err, fmt.Errorf("released: %w", failed))
			}
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				c.opt.Queue = true
				lock := s.obtain(s.Client, &c.opt)
				s.waits(t.Context(), s.Client, options("next"))
				ended := time.Now()
				check.NoError(t, c.ends(s, lock))
				next := check.Must[world.Turn](t)(receive(s.turns))
				check.NoError(t, next.Err)
				if waited := time.Since(ended); waited < c.rest {
					t.Errorf("the next has its turn %s after the end, want %s", waited, c.rest)
				}
				s.release(next.Lock, 1)
			})
		})
	}
}

// A lock of a partly read set that was upgraded writes all of its keys. The next one, which wants the set as that was, reads what it
// wants to read all the same.
func TestNotGivenAfterAnUpgrade(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		set := redislock.Set{Write: s.keys, Read: []string{s.keys[0] + ":read"}}
		lock := check.Must[*redislock.Lock](t)(s.Client.ObtainSet(t.Context(), set, world.Long, options("first")))
		next := make(chan *redislock.Lock, 1)
		go func() {
			lock, err := s.Client.ObtainSet(t.Context(), set, world.Long, options("next"))
			check.NoError(t, err)
			next <- lock
		}()
		synctest.Wait()
		check.NoError(t, lock.Upgrade(t.Context()))
		check.NoError(t, lock.Release(t.Context()))
		lock = <-next
		states := check.Must[[]redislock.KeyState](t)(s.other.Inspect(t.Context(), set.Read))
		if states[0].Mode != redislock.ModeRead {
			t.Errorf("what is to be read is %s", states[0].Mode)
		}
		check.NoError(t, lock.Release(t.Context()))
	})
}

func (s *scene) end(l *redislock.Lock) error { return l.Release(s.t.Context()) }

// receive waits for as long as it takes, in virtual time.
func receive(turns <-chan world.Turn) (world.Turn, error) {
	select {
	case got := <-turns:
		return got, nil
	case <-time.After(time.Hour):
		return world.Turn{}, errors.New("nobody has a turn")
	}
}

// The hooks hear that a lock was released before they hear that the next one was obtained.
func TestHooksInOrder(t *testing.T) {
	for _, passOn := range []time.Duration{0, time.Minute} {
		play(t, func(t *testing.T, s *scene) {
			var held, most int
			var mu sync.Mutex
			count := func(n int) func(context.Context, redislock.Event) {
				return func(context.Context, redislock.Event) {
					time.Sleep(time.Second)
					mu.Lock()
					defer mu.Unlock()
					held += n
					most = max(most, held)
				}
			}
			client := world.NewClient(t, s.RDB, redislock.WithHooks(redislock.Hooks{Obtained: count(1), Released: count(-1)}))
			opt := func(who string) *redislock.Options {
				return &redislock.Options{Queue: true, Metadata: who, PassOn: passOn}
			}
			lock := s.obtain(client, opt(""))
			s.waits(t.Context(), client, opt(""))
			check.NoError(t, lock.Release(t.Context()))
			check.NoError(t, s.wants("").Release(t.Context()))
			if most != 1 || held != 0 {
				t.Errorf("the hooks know of %d locks at once, and of %d in the end", most, held)
			}
		})
	}
}

// An Obtain under a lock of its own does not wait behind others for that lock.
func TestUnderItsOwnLock(t *testing.T) {
	inEachWay(t, "its own lock", func(t *testing.T, s *scene, options func(string) *redislock.Options) {
		err := s.Client.With(t.Context(), s.keys, world.Long, options("outer"), func(ctx context.Context) error {
			s.waits(t.Context(), s.Client, options("other"))
			began := time.Now()
			_, err := s.Client.Obtain(ctx, s.keys, world.Long, options("inner"))
			if took := time.Since(began); took > headStart/2 {
				t.Errorf("it took %s to be told", took)
			}
			return err
		})
		if conflict, is := errors.AsType[*redislock.ConflictError](err); !is || !conflict.Own {
			t.Errorf("got %v, want a conflict with its own lock", err)
		}
		check.NoError(t, s.wants("other").Release(t.Context()))
	})
}

// Close ends those who wait behind others as well, at once.
func TestCloseWhileBehind(t *testing.T) {
	inEachWay(t, "behind", func(t *testing.T, s *scene, options func(string) *redislock.Options) {
		s.obtain(s.Client, options("holder"))
		for _, who := range []string{"first", "second", "third"} {
			s.waits(t.Context(), s.Client, options(who))
		}
		began := time.Now()
		s.Client.Close()
		for range 3 {
			if got := check.Must[world.Turn](t)(receive(s.turns)); !errors.Is(got.Err, redis.ErrClosed) {
				t.Errorf("%s: got %v", got.Who, got.Err)
			}
		}
		if took := time.Since(began); took > headStart/2 {
			t.Errorf("it took %s", took)
		}
	})
}

// Who ends in the moment in which it is given the keys frees them, and renews them no more.
func TestGivenToWhoEnds(t *testing.T) {
	for _, passOn := range []time.Duration{0, time.Minute} {
		for how, end := range map[string]func(*redislock.Client){
			"a hook panics": func(*redislock.Client) { panic("planned") },
			"Close":         func(c *redislock.Client) { go c.Close(); synctest.Wait() },
		} {
			t.Run(fmt.Sprintf("PassOn %s, %s", passOn, how), func(t *testing.T) {
				play(t, func(t *testing.T, s *scene) {
					var client *redislock.Client
					var lock *redislock.Lock
					released := 0
					client = world.NewClient(t, s.RDB, redislock.WithHooks(redislock.Hooks{
						Waiting: func(ctx context.Context, _ redislock.Event) {
							check.NoError(t, lock.Release(ctx))
							end(client)
						},
						Released: func(context.Context, redislock.Event) { released++ },
					}))
					opt := passing(passOn)
					opt.Watchdog = true
					lock = s.obtain(client, opt)
					if passOn == 0 {
						opt.HoldAtLeast = world.Long
					}
					go func() {
						defer func() {
							if why := recover(); why != nil {
								s.turns <- world.Turn{Err: fmt.Errorf("%v", why)}
							}
						}()
						lock, err := client.Obtain(t.Context(), s.keys, world.Long, opt)
						s.turns <- world.Turn{Lock: lock, Err: err}
					}()
					_ = s.ends("")
					if released != 1 {
						t.Errorf("the hooks know of %d locks that were released, want 1: nobody was given the other", released)
					}
					check.NoError(t, s.obtain(s.other, nil).Release(t.Context()))
					before := s.sent.Load()
					time.Sleep(2 * world.Long)
					if got := s.sent.Load() - before; got != 0 {
						t.Errorf("%d scripts were sent afterwards", got)
					}
				})
			})
		}
	}
}

// On real servers it is as in virtual time: about a command a turn, one holder at a time, and nothing is left.
func TestTurnsOfAClient(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		w := world.New(t, b)
		scripts := check.Count(w.RDB, "eval")
		waiters, key := world.NewWaiters(t), w.Keys("k")
		const callers, turns = 8, 25
		for i := range callers {
			waiters.WG.Go(func() {
				for range turns {
					waiters.Turn(w.Client, fmt.Sprint(i), key, nil)
				}
			})
		}
		waiters.WG.Wait()
		waiters.Served(t)
		if got := scripts.Load(); got < callers*turns {
			t.Errorf("%d scripts for %d turns: each is to be known in Redis", got, callers*turns)
		}
		w.OnlyGuardsSoon(t, key...)
	})
}
