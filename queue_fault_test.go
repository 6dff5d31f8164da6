package redislock_test

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
)

// A gate tells when two are inside: whoever has the lock leaves a mark on the server, which ends with
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
	return lock.Release(ctx)
}

// beside makes another Client, with a Redis client of its own, that shares the keys of the world.
func (w *world) beside(t *testing.T, b redistest.Backend) *world {
	t.Helper()
	other := newWorld(t, b)
	other.prefix = w.prefix
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
func (w *world) noTraceSoon(t *testing.T, keys ...string) {
	t.Helper()
	eventually(t, soon, "nothing is left", func() bool {
		return must[int64](t)(w.rdb.Exists(t.Context(), traces(keys)...).Result()) == 0
	})
}

// onlyGuardsSoon is noTraceSoon where a request was not answered.
func (w *world) onlyGuardsSoon(t *testing.T, keys ...string) {
	t.Helper()
	eventually(t, soon, "nothing but guards is left", func() bool {
		return len(check.WithoutGuards(t.Context(), w.rdb, traces(keys)...)) == 0
	})
}

// crowd has n wait for the key, by turns in each of the worlds; they go through the gate one by one.
// What it returns waits until all have been served.
func crowd(t *testing.T, n int, key string, worlds ...*world) (served func(within time.Duration)) {
	t.Helper()
	g, ends := gateAt(worlds[0].rdb, key), make(chan error, n)
	for i := range n {
		go func() {
			lock, err := worlds[i%len(worlds)].client.Obtain(t.Context(), []string{key}, long, queue())
			if err == nil {
				err = g.pass(t.Context(), lock, 0)
			}
			ends <- err
		}()
	}
	worlds[0].inLine(t, key, n)
	return func(within time.Duration) {
		t.Helper()
		watch := newPatience(within)
		for i := range n {
			err, ok := receiveBefore(ends, watch)
			if !ok {
				t.Fatalf("%d of %d have been served within %v", i, n, within)
			}
			noError(t, err)
		}
	}
}

// onServers runs fn against a server of its own of each kind that there is.
func onServers(t *testing.T, fn func(t *testing.T, s *redistest.Server)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []redistest.Kind{redistest.Redis, redistest.Valkey} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			fn(t, redistest.Start(t, kind))
		})
	}
}

func TestQueueSubscriptionCut(t *testing.T) {
	onServers(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		key := w.key("k")
		for range 3 {
			holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, queue()))
			served := crowd(t, 100, key, w, w.beside(t, s))
			if n := must[int64](t)(w.rdb.ClientKillByFilter(t.Context(), "type", "pubsub").Result()); n < 2 {
				t.Fatalf("%d subscriptions were cut, want one of each client", n)
			}
			noError(t, holder.Release(t.Context()))
			served(soon)
			w.noTraceSoon(t, key)
		}
	})
}

func TestQueueScriptsFlushed(t *testing.T) {
	onServers(t, func(t *testing.T, s *redistest.Server) {
		w := newWorld(t, s)
		key := w.key("k")
		holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, queue()))
		served := crowd(t, 20, key, w, w.beside(t, s))
		noError(t, w.rdb.ScriptFlush(t.Context()).Err())
		noError(t, holder.Release(t.Context()))
		served(soon)
		w.noTraceSoon(t, key)
	})
}

// newDeaf makes a client that asks by one way and hears by another, on which messages may be lost.
func newDeaf(asks, hears *redis.Client) *redislock.Client {
	return redislock.New(bare{asks}, redislock.WithWrapped(hears))
}

// The server counts one who hears it, and nobody does.
func TestQueueMessagesLost(t *testing.T) {
	onServers(t, func(t *testing.T, s *redistest.Server) {
		for _, ttl := range []time.Duration{long, time.Second} {
			t.Run(fmt.Sprint("ttl ", ttl), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, s)
				relay := redistest.NewRelay(t, s.Addr())
				client := newDeaf(w.rdb, relay.Client(t))
				t.Cleanup(client.Close)
				key := w.key("k")
				holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), []string{key}, long, nil))
				turns := make(chan turn, 2)
				wait := func(who string, client *redislock.Client, ttl time.Duration, n int) {
					go func() {
						lock, err := client.Obtain(t.Context(), []string{key}, ttl, queue())
						turns <- turn{who, lock, err}
					}()
					w.inLine(t, key, n)
				}
				wait("deaf", client, ttl, 1)
				wait("other", w.client, long, 2)
				relay.DropReplies(true)
				noError(t, holder.Release(t.Context()))
				g, watch := gateAt(w.rdb, key), newPatience(polled) // no longer than until it asks again
				var order []string
				for range 2 {
					got, ok := receiveBefore(turns, watch)
					if !ok {
						t.Fatalf("served: %v", order)
					}
					noError(t, got.err)
					noError(t, g.pass(t.Context(), got.lock, 0))
					order = append(order, got.who)
					if took := polled - watch.left; got.who == "other" && ttl < soon && took > soon {
						t.Errorf("the next waited %v for a lease of %v", took, ttl)
					}
				}
				w.onlyGuardsSoon(t, key) // go-redis may have sent again what took long
			})
		}
	})
}

// onScript calls fn with the number, from 1, of each run of a script that names a waiter's channel: a
// release says so to whom it may answer, and rw when a waiter asks.
func (l *lossy) onScript(script string, fn func(n int)) {
	var n atomic.Int64
	l.relay.OnRequest(func(name string, args []string) {
		l.relay.DropReplies(false)
		if run := check.RunOf(append([]string{name}, args...)...); run.Of(script) && run.Channel() != "" {
			fn(int(n.Add(1)))
		}
	})
}

// newLossyQueue is newLossy, of a server that knows the script of waiters too, and has a holder.
func newLossyQueue(t *testing.T, mod func(*redis.Options)) (*lossy, *world, *redislock.Lock) {
	t.Helper()
	l := newLossy(t, mod)
	warm := must[*redislock.Lock](t)(l.client.ObtainRead(t.Context(), []string{l.key + ":warm"}, long, nil))
	noError(t, warm.Release(t.Context()))
	w := newWorld(t, redistest.Shared(t, redistest.Redis))
	return l, w, l.obtain(t, l.key)
}

// The turn of a waiter of the same Client is in the answer to a release.
func TestQueueReleaseReplyLost(t *testing.T) {
	t.Parallel()
	for name, mod := range map[string]func(*redis.Options){"once": impatient, "again": persistent} {
		for fault, spoil := range map[string]func(r *redistest.Relay){
			"dropped": func(r *redistest.Relay) { r.DropReplies(true) },
			"cut":     func(r *redistest.Relay) { r.CutReplies() },
		} {
			t.Run(fault+"/"+name, func(t *testing.T) {
				t.Parallel()
				l, w, holder := newLossyQueue(t, mod)
				turns := make(chan turn, 1)
				(&world{client: l.client}).wait(t.Context(), turns, "next", []string{l.key}, nil)
				w.inLine(t, l.key, 1)
				var lost atomic.Bool
				l.onScript("release", func(n int) {
					if n == 1 {
						lost.Store(true)
						spoil(l.relay)
					}
				})
				if err := holder.Release(t.Context()); name == "again" {
					noError(t, err)
				} else {
					wantIs(t, err, redislock.ErrUnknownOutcome)
				}
				if !lost.Load() {
					t.Fatal("no answer was lost")
				}
				next := wantTurn(t, turns, "next")[0]
				l.relay.OnRequest(nil)
				l.relay.DropReplies(false)
				noError(t, gateAt(l.direct, l.key).pass(t.Context(), next, 0))
				w.onlyGuardsSoon(t, l.key)
			})
		}
	}
}

// It is in line and does not know where, or that it is.
func TestQueueEnterReplyLost(t *testing.T) {
	t.Parallel()
	for name, mod := range map[string]func(*redis.Options){"once": impatient, "again": persistent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, w, holder := newLossyQueue(t, mod)
			opt := queue()
			opt.RetryStrategy = redislock.LinearBackoff(50 * time.Millisecond)
			var asked atomic.Int64
			l.onScript("rw", func(n int) {
				asked.Store(int64(n))
				if n == 1 {
					l.relay.CutReplies()
				}
			})
			turns := make(chan turn, 1)
			go func() {
				lock, err := l.client.Obtain(t.Context(), []string{l.key}, long, opt)
				turns <- turn{"first", lock, err}
			}()
			eventually(t, soon, "it asks once more", func() bool { return asked.Load() >= 2 })
			time.Sleep(100 * time.Millisecond) // until that was answered
			if line := w.inLine(t, l.key, 1); !line[0].Alive {
				t.Errorf("got %v in line", line)
			}
			l.relay.OnRequest(nil)
			w.wait(t.Context(), turns, "second", []string{l.key}, nil)
			w.inLine(t, l.key, 2)
			noError(t, holder.Release(t.Context()))
			first := wantTurn(t, turns, "first")[0]
			wantNobody(t, turns)
			noError(t, first.Release(t.Context()))
			noError(t, wantTurn(t, turns, "second")[0].Release(t.Context()))
			w.onlyGuardsSoon(t, l.key)
		})
	}
	t.Run("and it does not go on", func(t *testing.T) {
		t.Parallel()
		l, w, holder := newLossyQueue(t, impatient)
		l.onScript("rw", func(int) { l.relay.CutReplies() })
		_, err := l.client.Obtain(t.Context(), []string{l.key}, long, queue())
		l.relay.OnRequest(nil)
		unknownOutcome(t, err)
		w.inLine(t, l.key, 0)
		noError(t, holder.Release(t.Context()))
		w.onlyGuardsSoon(t, l.key)
	})
}
