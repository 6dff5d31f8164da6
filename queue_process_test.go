package redislock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func init() {
	// queuer stands in line for a key, for a lease of args[2], and keeps it for args[3].
	redistest.RegisterRole("queuer", func(args []string) {
		ctx, rdb := context.Background(), redis.NewClient(&redis.Options{Addr: args[0]})
		ttl, _ := time.ParseDuration(args[2])
		stay, _ := time.ParseDuration(args[3])
		lock, err := redislock.New(rdb).Obtain(ctx, args[1:2], ttl, queue())
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := gateAt(rdb, args[1]).enter(ctx, lock); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("held")
		time.Sleep(stay)
		_ = gateAt(rdb, args[1]).leave(ctx, lock)
		fmt.Println("released:", lock.Release(ctx))
	})
}

// A street is a line for one key of a server of its own, in which processes stand.
type street struct {
	*world
	server *redistest.Server
	gate   gate
	turns  chan turn
	n      int // how many stand there
}

func newStreet(t *testing.T) *street {
	t.Helper()
	s := redistest.Start(t, redistest.Redis)
	w := newWorld(t, s)
	return &street{world: w, server: s, gate: gateAt(w.rdb, w.key("k")), turns: make(chan turn, 10)}
}

// process has one more stand in line, in a process of its own.
func (s *street) process(t *testing.T, ttl, stay time.Duration) *redistest.Process {
	t.Helper()
	p := redistest.StartRole(t, "queuer", s.server.Addr(), s.key("k"), ttl.String(), stay.String())
	s.n++
	s.inLine(t, s.key("k"), s.n)
	return p
}

// waiter has one more stand in line.
func (s *street) waiter(t *testing.T, who string) {
	t.Helper()
	go func() {
		lock, err := s.client.Obtain(t.Context(), []string{s.key("k")}, long, queue())
		s.turns <- turn{who, lock, err}
	}()
	s.n++
	s.inLine(t, s.key("k"), s.n)
}

// hold has the key held by somebody who does not queue.
func (s *street) hold(t *testing.T) *redislock.Lock {
	t.Helper()
	return must[*redislock.Lock](t)(s.client.Obtain(t.Context(), []string{s.key("k")}, long, nil))
}

// kill kills a process, and waits until the server knows that it is gone.
func (s *street) kill(t *testing.T, p *redistest.Process) {
	t.Helper()
	before := s.subscribers(t)
	p.Kill()
	eventually(t, soon, "the server knows", func() bool { return s.subscribers(t) < before })
}

func (s *street) subscribers(t *testing.T) int {
	t.Helper()
	return len(must[[]string](t)(s.rdb.PubSubChannels(t.Context(), "redislock:wake:*").Result()))
}

// serve waits for the turns of some in this process, one after the other, which come soon: also if the
// lease of a process has to end before.
func (s *street) serve(t *testing.T, who ...string) {
	t.Helper()
	watch := newPatience(soon)
	for _, want := range who {
		got, ok := receiveBefore(s.turns, watch)
		if !ok {
			t.Fatalf("%s has not got the lock within %v", want, soon)
		}
		noError(t, got.err)
		if got.who != want {
			t.Fatalf("it is the turn of %s, want %s", got.who, want)
		}
		noError(t, s.gate.pass(t.Context(), got.lock, time.Millisecond))
	}
}

func TestQueueWaiterKilled(t *testing.T) {
	t.Parallel()
	t.Run("at the head, and another behind it", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		holder := s.hold(t)
		dead := []*redistest.Process{s.process(t, long, 0), s.process(t, long, 0)}
		s.waiter(t, "a")
		for _, p := range dead {
			s.kill(t, p)
		}
		noError(t, holder.Release(t.Context()))
		s.serve(t, "a")
		s.noTraceSoon(t, s.key("k"))
	})
	t.Run("in the middle", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		holder := s.hold(t)
		s.waiter(t, "a")
		dead := s.process(t, long, 0)
		s.waiter(t, "b")
		s.kill(t, dead)
		noError(t, holder.Release(t.Context()))
		s.serve(t, "a", "b")
		s.noTraceSoon(t, s.key("k"))
	})
	t.Run("just after it was granted", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		holder := s.hold(t)
		p := s.process(t, holderTTL, time.Hour)
		s.waiter(t, "a")
		noError(t, holder.Release(t.Context()))
		wantLine(t, p, "held")
		p.Kill()
		s.serve(t, "a")
		s.noTraceSoon(t, s.key("k"))
	})
	t.Run("with nobody else there: it refuses no one", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		s.hold(t)
		p := s.process(t, long, 0)
		s.n--
		s.kill(t, p)
		noError(t, s.rdb.Del(t.Context(), s.key("k")).Err()) // a release would clear the line itself
		noError(t, s.hold(t).Release(t.Context()))
		s.noTraceSoon(t, s.key("k"))
	})
}

func TestQueueHolderKilled(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	first := s.hold(t)
	holder := s.process(t, holderTTL, time.Hour)
	other := s.process(t, long, 0)
	s.waiter(t, "a")
	noError(t, first.Release(t.Context()))
	wantLine(t, holder, "held")
	holder.Kill()
	wantLine(t, other, "held")
	wantLine(t, other, "released: <nil>")
	s.serve(t, "a")
	s.noTraceSoon(t, s.key("k"))
}

// Longer than it counts as alive.
func TestQueueWaiterPaused(t *testing.T) {
	t.Parallel()
	const tooLong = 20 * time.Second
	t.Run("others go on, and it is served when it wakes", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		holder := s.hold(t)
		p := s.process(t, long, 0)
		s.waiter(t, "a")
		p.Pause()
		eventually(t, tooLong, "the first counts as dead", func() bool { return !s.inLine(t, s.key("k"), 2)[0].Alive })
		noError(t, holder.Release(t.Context()))
		s.serve(t, "a")
		s.noTraceSoon(t, s.key("k"))
		holder = s.hold(t)
		p.Resume()
		s.n = 1
		s.inLine(t, s.key("k"), 1)
		s.waiter(t, "b")
		noError(t, holder.Release(t.Context()))
		wantLine(t, p, "held")
		wantLine(t, p, "released: <nil>")
		s.serve(t, "b")
		s.noTraceSoon(t, s.key("k"))
	})
	t.Run("it keeps out whoever does not queue as long as it counts as alive", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		s.hold(t)
		p := s.process(t, long, 0)
		p.Pause()
		noError(t, s.rdb.Del(t.Context(), s.key("k")).Err())
		_, err := s.client.Obtain(t.Context(), []string{s.key("k")}, long, nil)
		conflict := wantConflict(t, err, s.key("k"), redislock.ModeQueue)
		if conflict.TTL <= 0 || conflict.TTL > 15*time.Second {
			t.Errorf("got %v that it still counts as alive, want at most 15s", conflict.TTL)
		}
		eventually(t, tooLong, "it refuses no one", func() bool {
			_, err := s.client.Obtain(t.Context(), []string{s.key("k")}, time.Second, nil)
			return err == nil
		})
		p.Resume()
		wantLine(t, p, "held")
		wantLine(t, p, "released: <nil>")
		s.noTraceSoon(t, s.key("k"))
	})
	t.Run("granted while it sleeps: its lease is all that others wait", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		holder := s.hold(t)
		p := s.process(t, holderTTL, 0)
		s.waiter(t, "a")
		p.Pause()
		noError(t, holder.Release(t.Context()))
		s.serve(t, "a")
		p.Resume()
		wantLine(t, p, "held")
		wantLine(t, p, "released: <nil>")
		s.noTraceSoon(t, s.key("k"))
	})
}

func TestQueueServerRestarts(t *testing.T) {
	onServers(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		key := w.key("k")
		must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, nil))
		served := crowd(t, 20, key, w, w.beside(t, s))
		s.Restart() // empty: the first who asks has the lock
		served(polled)
		w.noTraceSoon(t, key)
	})
}

// A server that stands still keeps time: leases end, whatever it has not answered.
func TestQueueServerPaused(t *testing.T) {
	const lease = 1500 * time.Millisecond
	for name, pause := range map[string]time.Duration{
		"for less than a lease":           lease / 3,
		"for longer than a lease":         lease + 500*time.Millisecond,
		"for longer than clients wait":    2 * lease,
		"for longer than clients ask for": 6 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			onServers(t, func(t *testing.T, s *redistest.Server) {
				hasty := func(o *redis.Options) { o.ReadTimeout = lease + 700*time.Millisecond }
				w := newWorld(t, s)
				key, g := w.key("k"), gateAt(s.Client(t), w.key("k"))
				clients := []*redislock.Client{redislock.New(s.Client(t, hasty)), redislock.New(s.Client(t, hasty))}
				ends := make(chan error, 10)
				holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, nil))
				for i := range cap(ends) {
					client := clients[i%len(clients)]
					go func() {
						lock, err := client.Obtain(t.Context(), []string{key}, lease, queue())
						if err == nil {
							err = g.enter(t.Context(), lock)
						}
						if err == nil {
							_ = g.leave(t.Context(), lock)
							_ = lock.Release(t.Context())
						}
						ends <- err
					}()
				}
				w.inLine(t, key, cap(ends))
				noError(t, holder.Refresh(t.Context(), lease))
				noError(t, g.enter(t.Context(), holder)) // until its window is over
				s.Pause()
				time.Sleep(pause)
				s.Resume()
				for range cap(ends) {
					err, ok := receive(ends, 2*polled)
					if !ok {
						t.Fatal("somebody was not served")
					}
					if err != nil {
						t.Error(err)
					}
				}
				w.noTraceSoon(t, key)
				for _, client := range clients {
					client.Close()
				}
			})
		})
	}
}
