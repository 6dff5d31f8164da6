package line_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A gate reports when two are inside: whoever has the lock leaves a mark on the server, which ends with
// the window of the lock.
type gate struct {
	rdb  *redis.Client
	mark string
}

func gateAt(rdb *redis.Client, key string) gate { return gate{rdb, "inside:" + key} }

// enter returns an error if somebody else is inside.
func (g gate) enter(ctx context.Context, lock *redislock.Lock) error {
	err := g.rdb.Do(ctx, "set", g.mark, lock.Token(), "nx", "pxat", lock.Deadline().UnixMilli()).Err()
	switch {
	case !errors.Is(err, redis.Nil):
		return err
	case time.Now().After(lock.Deadline()): // it came so late that the next one may be inside
		return nil
	}
	return errors.New("two are inside")
}

// leave takes away the mark, if it is still that of the lock.
func (g gate) leave(ctx context.Context, lock *redislock.Lock) error {
	return g.rdb.Eval(ctx, "if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('del', KEYS[1]) end return 0",
		[]string{g.mark}, lock.Token()).Err()
}

// pass goes in, stays a little, and goes out and releases the lock.
func (g gate) pass(ctx context.Context, lock *redislock.Lock, stay time.Duration) error {
	if err := g.enter(ctx, lock); err != nil {
		return err
	}
	time.Sleep(stay)
	if err := g.leave(ctx, lock); err != nil {
		return err
	}
	if err := lock.Release(ctx); err != nil && (!errors.Is(err, redislock.ErrLockNotHeld) || time.Now().Before(lock.Deadline())) {
		return err
	}
	return nil // or it was over before, on a machine that stood still
}

// beside makes another Client, with a Redis client of its own, that shares the keys of the world.
func beside(t *testing.T, w *world.World, b redistest.Backend) *world.World {
	t.Helper()
	other := world.New(t, b)
	other.Prefix = w.Prefix
	return other
}

// traces are what may be left of a lock, and of those who waited for it.
func traces(keys []string) (all []string) {
	for _, key := range keys {
		all = append(all, key, "redislock:line:{"+key+"}")
	}
	return all
}

// noTraceSoon waits until nothing is left of a lock, nor of those who waited for it.
func noTraceSoon(t *testing.T, w *world.World, keys ...string) {
	t.Helper()
	defer func() {
		for _, key := range traces(keys) {
			if t.Failed() {
				t.Logf("%s: %q %q", key, w.RDB.Get(t.Context(), key).Val(), w.RDB.ZRange(t.Context(), key, 0, -1).Val())
			}
		}
	}()
	check.Eventually(t, world.Soon, "nothing is left", func() bool {
		return check.Must[int64](t)(w.RDB.Exists(t.Context(), traces(keys)...).Result()) == 0
	})
}

// waitTogether has n wait for the key, each by itself, by turns in each of the worlds; they go through the gate one by one.
// What it returns waits until all have been served, each soon after the one before: who heard nothing would ask much later.
func waitTogether(t *testing.T, n int, key string, worlds ...*world.World) (served func(within time.Duration)) {
	t.Helper()
	g, ends := gateAt(worlds[0].RDB, key), make(chan error, n)
	for i := range n {
		go func() {
			lock, err := worlds[i%len(worlds)].Client.Obtain(world.Apart(t.Context()), []string{key}, world.Long, world.Queue())
			if err == nil {
				err = g.pass(t.Context(), lock, 0)
			}
			ends <- err
		}()
	}
	worlds[0].InLine(t, key, n)
	return func(within time.Duration) {
		t.Helper()
		for i := range n {
			err, ok := check.Receive(ends, within)
			if !ok {
				t.Fatalf("%d of %d have been served, and for %v nobody", i, n, within)
			}
			check.NoError(t, err)
		}
	}
}

// onServers runs fn against a server of its own of each kind that there is.
func onServers(t *testing.T, fn func(t *testing.T, s *redistest.Server)) {
	t.Helper()
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		fn(t, redistest.Start(t, kind))
	})
}

func TestQueueSubscriptionCut(t *testing.T) {
	onServers(t, func(t *testing.T, s *redistest.Server) {
		w := world.New(t, s)
		key := w.Key("k")
		for range 3 {
			holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, world.Queue()))
			served := waitTogether(t, 100, key, w, beside(t, w, s))
			if n := check.Must[int64](t)(w.RDB.ClientKillByFilter(t.Context(), "type", "pubsub").Result()); n < 2 {
				t.Fatalf("%d subscriptions were cut, want one of each client", n)
			}
			check.NoError(t, holder.Release(t.Context()))
			served(world.Soon)
			noTraceSoon(t, w, key)
		}
	})
}

func TestQueueScriptsFlushed(t *testing.T) {
	onServers(t, func(t *testing.T, s *redistest.Server) {
		w := world.New(t, s)
		key := w.Key("k")
		holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, world.Queue()))
		served := waitTogether(t, 20, key, w, beside(t, w, s))
		check.NoError(t, w.RDB.ScriptFlush(t.Context()).Err())
		check.NoError(t, holder.Release(t.Context()))
		served(world.Soon)
		noTraceSoon(t, w, key)
	})
}

// newSplit makes a Client that asks over one connection and subscribes over another, on which messages may be lost.
func newSplit(asks, subscribes *redis.Client) *redislock.Client {
	return redislock.New(world.Bare{Scripter: asks}, redislock.WithWrapped(subscribes))
}

// The server counts one subscriber, which does not get the message.
func TestQueueMessagesLost(t *testing.T) {
	onServers(t, func(t *testing.T, s *redistest.Server) {
		for _, ttl := range []time.Duration{world.Long, time.Second} {
			t.Run(fmt.Sprint("ttl ", ttl), func(t *testing.T) {
				t.Parallel()
				w := world.New(t, s)
				relay := redistest.NewRelay(t, s.Addr())
				client := newSplit(w.RDB, relay.Client(t))
				t.Cleanup(client.Close)
				key := w.Key("k")
				holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), []string{key}, world.Long, nil))
				turns := make(chan world.Turn, 2)
				wait := func(who string, client *redislock.Client, ttl time.Duration, n int) {
					go func() {
						lock, err := client.Obtain(t.Context(), []string{key}, ttl, world.Queue())
						turns <- world.Turn{Who: who, Lock: lock, Err: err}
					}()
					w.InLine(t, key, n)
				}
				wait("first", client, ttl, 1)
				wait("other", w.Client, world.Long, 2)
				relay.DropReplies(true)
				check.NoError(t, holder.Release(t.Context()))
				g, watch := gateAt(w.RDB, key), check.NewPatience(world.Polled) // no longer than until it asks again
				var order []string
				for range 2 {
					got, ok := check.ReceiveBefore(turns, watch)
					if !ok {
						t.Fatalf("served: %v", order)
					}
					check.NoError(t, got.Err)
					check.NoError(t, g.pass(t.Context(), got.Lock, 0))
					order = append(order, got.Who)
					if took := world.Polled - watch.Left; got.Who == "other" && ttl < world.Soon && took > world.Soon {
						t.Errorf("the next waited %v for a lease of %v", took, ttl)
					}
				}
				w.OnlyGuardsSoon(t, key) // go-redis may have sent again what took long
			})
		}
	})
}

// onScript calls fn with the number, from 1, of each run of a script that names a waiter's channel: a
// release says so to whom it may answer, and rw when a waiter asks.
func onScript(l *world.Lossy, script string, fn func(n int)) {
	var n atomic.Int64
	l.Relay.OnRequest(func(name string, args []string) {
		l.Relay.DropReplies(false)
		if run := check.RunOf(append([]string{name}, args...)...); run.Of(script) && run.Channel() != "" {
			fn(int(n.Add(1)))
		}
	})
}

// newLossyLine is world.NewLossy, of a server that knows the script of waiters too, and has a holder.
func newLossyLine(t *testing.T, mod func(*redis.Options)) (*world.Lossy, *world.World, *redislock.Lock) {
	t.Helper()
	l := world.NewLossy(t, mod)
	w := world.New(t, redistest.Shared(t, redistest.Redis))
	return l, w, l.Obtain(t, l.Key)
}

// The turn of a waiter of the same Client is in the answer to a release.
func TestQueueReleaseReplyLost(t *testing.T) {
	t.Parallel()
	for name, mod := range map[string]func(*redis.Options){"once": world.Impatient, "again": world.Persistent} {
		for fault, spoil := range map[string]func(r *redistest.Relay){
			"dropped": func(r *redistest.Relay) { r.DropReplies(true) },
			"cut":     func(r *redistest.Relay) { r.CutReplies() },
		} {
			t.Run(fault+"/"+name, func(t *testing.T) {
				t.Parallel()
				l, w, holder := newLossyLine(t, mod)
				turns := make(chan world.Turn, 1)
				(&world.World{Client: l.Client}).Wait(t.Context(), turns, "next", []string{l.Key}, nil)
				w.InLine(t, l.Key, 1)
				var lost atomic.Bool
				onScript(l, "release", func(n int) {
					if n == 1 {
						lost.Store(true)
						spoil(l.Relay)
					}
				})
				if err := holder.Release(t.Context()); name == "again" {
					check.NoError(t, err)
				} else {
					check.Is(t, err, redislock.ErrUnknownOutcome)
				}
				if !lost.Load() {
					t.Fatal("no answer was lost")
				}
				next := world.WantTurn(t, turns, "next")[0]
				l.Relay.OnRequest(nil)
				l.Relay.DropReplies(false)
				check.NoError(t, gateAt(l.Direct, l.Key).pass(t.Context(), next, 0))
				w.OnlyGuardsSoon(t, l.Key)
			})
		}
	}
}

// The waiter is in line and does not know where, or does not know that it is.
func TestQueueEnterReplyLost(t *testing.T) {
	t.Parallel()
	for name, mod := range map[string]func(*redis.Options){"once": world.Impatient, "again": world.Persistent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, w, holder := newLossyLine(t, mod)
			opt := world.Queue()
			opt.RetryStrategy = redislock.LinearBackoff(50 * time.Millisecond)
			var asked atomic.Int64
			onScript(l, "rw", func(n int) {
				asked.Store(int64(n))
				if n == 1 {
					l.Relay.CutReplies()
				}
			})
			turns := make(chan world.Turn, 1)
			go func() {
				lock, err := l.Client.Obtain(t.Context(), []string{l.Key}, world.Long, opt)
				turns <- world.Turn{Who: "first", Lock: lock, Err: err}
			}()
			check.Eventually(t, world.Soon, "it asks once more", func() bool { return asked.Load() >= 2 })
			time.Sleep(100 * time.Millisecond) // until that was answered
			if line := w.InLine(t, l.Key, 1); !line[0].Alive {
				t.Errorf("got %v in line", line)
			}
			l.Relay.OnRequest(nil)
			w.Wait(t.Context(), turns, "second", []string{l.Key}, nil)
			w.InLine(t, l.Key, 2)
			check.NoError(t, holder.Release(t.Context()))
			first := world.WantTurn(t, turns, "first")[0]
			world.WantNobody(t, turns)
			check.NoError(t, first.Release(t.Context()))
			check.NoError(t, world.WantTurn(t, turns, "second")[0].Release(t.Context()))
			w.OnlyGuardsSoon(t, l.Key)
		})
	}
	t.Run("and it does not go on", func(t *testing.T) {
		t.Parallel()
		l, w, holder := newLossyLine(t, world.Impatient)
		onScript(l, "rw", func(int) { l.Relay.CutReplies() })
		_, err := l.Client.Obtain(t.Context(), []string{l.Key}, world.Long, world.Queue())
		l.Relay.OnRequest(nil)
		world.WantUnknownOutcome(t, err)
		w.InLine(t, l.Key, 0)
		check.NoError(t, holder.Release(t.Context()))
		w.OnlyGuardsSoon(t, l.Key)
	})
}
