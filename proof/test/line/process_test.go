package line_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// waiterTTL is the lease of a process that holds the key.
const waiterTTL = 3 * time.Second

func init() {
	// waiter stands in line for a key, for a lease of args[2], and keeps it for args[3].
	redistest.RegisterRole("waiter", func(args []string) {
		ctx, rdb := context.Background(), redis.NewClient(&redis.Options{Addr: args[0]})
		ttl, _ := time.ParseDuration(args[2])
		stay, _ := time.ParseDuration(args[3])
		lock, err := redislock.New(rdb).Obtain(ctx, args[1:2], ttl, world.Queue())
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

// A processLine is a line for one key of a server of its own, in which processes stand.
type processLine struct {
	*world.World
	server *redistest.Server
	gate   gate
	turns  chan world.Turn
	n      int // how many stand there
}

func newStreet(t *testing.T) *processLine {
	t.Helper()
	s := redistest.Start(t, redistest.Redis)
	w := world.New(t, s)
	return &processLine{World: w, server: s, gate: gateAt(w.RDB, w.Key("k")), turns: make(chan world.Turn, 10)}
}

// process has one more waiter stand in line, in a process of its own.
func (s *processLine) process(t *testing.T, ttl, stay time.Duration) *redistest.Process {
	t.Helper()
	p := redistest.StartRole(t, "waiter", s.server.Addr(), s.Key("k"), ttl.String(), stay.String())
	s.n++
	s.InLine(t, s.Key("k"), s.n)
	return p
}

// waiter has one more waiter stand in line, by itself.
func (s *processLine) waiter(t *testing.T, who string) {
	t.Helper()
	go func() {
		lock, err := s.Client.Obtain(world.Apart(t.Context()), []string{s.Key("k")}, world.Long, world.Queue())
		s.turns <- world.Turn{Who: who, Lock: lock, Err: err}
	}()
	s.n++
	s.InLine(t, s.Key("k"), s.n)
}

// hold has the key held by a caller without Queue.
func (s *processLine) hold(t *testing.T) *redislock.Lock {
	t.Helper()
	return check.Must[*redislock.Lock](t)(s.Client.Obtain(t.Context(), []string{s.Key("k")}, world.Long, nil))
}

// kill kills a process, and waits until the server knows that it is gone.
func (s *processLine) kill(t *testing.T, p *redistest.Process) {
	t.Helper()
	before := s.subscribers(t)
	p.Kill()
	check.Eventually(t, world.Soon, "the server knows", func() bool { return s.subscribers(t) < before })
}

func (s *processLine) subscribers(t *testing.T) int {
	t.Helper()
	return len(check.Must[[]string](t)(s.RDB.PubSubChannels(t.Context(), "redislock:wake:*").Result()))
}

// serve waits for the turns of some waiters of this process, one after the other. Each comes soon, also if the lease of
// another process has to end before.
func (s *processLine) serve(t *testing.T, who ...string) {
	t.Helper()
	watch := check.NewPatience(world.Soon)
	for _, want := range who {
		got, ok := check.ReceiveBefore(s.turns, watch)
		if !ok {
			t.Fatalf("%s has not got the lock within %v", want, world.Soon)
		}
		check.NoError(t, got.Err)
		if got.Who != want {
			t.Fatalf("it is the turn of %s, want %s", got.Who, want)
		}
		check.NoError(t, s.gate.pass(t.Context(), got.Lock, time.Millisecond))
	}
}

func TestQueueWaiterKilled(t *testing.T) {
	t.Parallel()
	t.Run("at the head, and another behind it", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		holder := s.hold(t)
		dead := []*redistest.Process{s.process(t, world.Long, 0), s.process(t, world.Long, 0)}
		s.waiter(t, "a")
		for _, p := range dead {
			s.kill(t, p)
		}
		check.NoError(t, holder.Release(t.Context()))
		s.serve(t, "a")
		noTraceSoon(t, s.World, s.Key("k"))
	})
	t.Run("in the middle", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		holder := s.hold(t)
		s.waiter(t, "a")
		dead := s.process(t, world.Long, 0)
		s.waiter(t, "b")
		s.kill(t, dead)
		check.NoError(t, holder.Release(t.Context()))
		s.serve(t, "a", "b")
		noTraceSoon(t, s.World, s.Key("k"))
	})
	t.Run("just after it was granted", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		holder := s.hold(t)
		p := s.process(t, waiterTTL, time.Hour)
		s.waiter(t, "a")
		check.NoError(t, holder.Release(t.Context()))
		world.WantSays(t, p, "held")
		p.Kill()
		s.serve(t, "a")
		noTraceSoon(t, s.World, s.Key("k"))
	})
	t.Run("with nobody else there: it refuses no one", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		s.hold(t)
		p := s.process(t, world.Long, 0)
		s.n--
		s.kill(t, p)
		check.NoError(t, s.RDB.Del(t.Context(), s.Key("k")).Err()) // a release would clear the line itself
		check.NoError(t, s.hold(t).Release(t.Context()))
		noTraceSoon(t, s.World, s.Key("k"))
	})
}

func TestQueueHolderKilled(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	first := s.hold(t)
	holder := s.process(t, waiterTTL, time.Hour)
	other := s.process(t, world.Long, 0)
	s.waiter(t, "a")
	check.NoError(t, first.Release(t.Context()))
	world.WantSays(t, holder, "held")
	holder.Kill()
	world.WantSays(t, other, "held")
	world.WantSays(t, other, "released: <nil>")
	s.serve(t, "a")
	noTraceSoon(t, s.World, s.Key("k"))
}

// Longer than it counts as alive. A request that was under way when it was paused is closed by a guard, which stays for a while.
func TestQueueWaiterPaused(t *testing.T) {
	t.Parallel()
	const tooLong = 20 * time.Second
	t.Run("others go on, and it is served when it wakes", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		holder := s.hold(t)
		p := s.process(t, world.Long, 0)
		s.waiter(t, "a")
		p.Pause()
		check.Eventually(t, tooLong, "the first counts as dead", func() bool { return !s.InLine(t, s.Key("k"), 2)[0].Alive })
		check.NoError(t, holder.Release(t.Context()))
		s.serve(t, "a")
		noTraceSoon(t, s.World, s.Key("k"))
		holder = s.hold(t)
		p.Resume()
		s.n = 1
		s.InLine(t, s.Key("k"), 1)
		s.waiter(t, "b")
		check.NoError(t, holder.Release(t.Context()))
		world.WantSays(t, p, "held")
		world.WantSays(t, p, "released: <nil>")
		s.serve(t, "b")
		s.OnlyGuardsSoon(t, s.Key("k"))
	})
	t.Run("it keeps out a caller without Queue as long as it counts as alive", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		s.hold(t)
		p := s.process(t, world.Long, 0)
		p.Pause()
		check.NoError(t, s.RDB.Del(t.Context(), s.Key("k")).Err())
		_, err := s.Client.Obtain(t.Context(), []string{s.Key("k")}, world.Long, nil)
		conflict := world.WantConflict(t, err, s.Key("k"), redislock.ModeQueue)
		if conflict.TTL <= 0 || conflict.TTL > 15*time.Second {
			t.Errorf("got %v that it still counts as alive, want at most 15s", conflict.TTL)
		}
		check.Eventually(t, tooLong, "it refuses no one", func() bool {
			_, err := s.Client.Obtain(t.Context(), []string{s.Key("k")}, time.Second, nil)
			return err == nil
		})
		p.Resume()
		world.WantSays(t, p, "held")
		world.WantSays(t, p, "released: <nil>")
		s.OnlyGuardsSoon(t, s.Key("k"))
	})
	t.Run("granted while it sleeps: its lease is all that others wait", func(t *testing.T) {
		t.Parallel()
		s := newStreet(t)
		holder := s.hold(t)
		p := s.process(t, waiterTTL, 0)
		s.waiter(t, "a")
		p.Pause()
		check.NoError(t, holder.Release(t.Context()))
		s.serve(t, "a")
		p.Resume()
		world.WantSays(t, p, "held")
		world.WantSays(t, p, "released: <nil>")
		s.OnlyGuardsSoon(t, s.Key("k"))
	})
}

func TestQueueServerRestarts(t *testing.T) {
	onServers(t, func(t *testing.T, s *redistest.Server) {
		w := world.New(t, s)
		key := w.Key("k")
		check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
		served := waitTogether(t, 20, key, w, beside(t, w, s))
		s.Restart() // empty: the first who asks has the lock
		served(world.Polled)
		noTraceSoon(t, w, key)
	})
}

// While a server stands still, time passes: leases end, whether it has answered or not.
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
				w := world.New(t, s)
				key, g := w.Key("k"), gateAt(s.Client(t), w.Key("k"))
				clients := []*redislock.Client{redislock.New(s.Client(t, hasty)), redislock.New(s.Client(t, hasty))}
				ends := make(chan error, 10)
				holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
				for i := range cap(ends) {
					client := clients[i%len(clients)]
					go func() {
						lock, err := client.Obtain(world.Apart(t.Context()), []string{key}, lease, world.Queue())
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
				w.InLine(t, key, cap(ends))
				check.NoError(t, holder.Refresh(t.Context(), lease))
				check.NoError(t, g.enter(t.Context(), holder)) // until its window is over
				s.Pause()
				time.Sleep(pause)
				s.Resume()
				for range cap(ends) {
					err, ok := check.Receive(ends, 2*world.Polled)
					if !ok {
						t.Fatal("somebody was not served")
					}
					if err != nil {
						t.Error(err)
					}
				}
				w.OnlyGuardsSoon(t, key) // who asked when the lease was over had no answer
				for _, client := range clients {
					client.Close()
				}
			})
		})
	}
}
