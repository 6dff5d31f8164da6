package line_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A Client with a prefix and one that names the keys in full stand in the same lines, and hand over to each other, whoever
// of them holds the keys.
func TestPrefixedLine(t *testing.T) {
	t.Parallel()
	world.InTurn(t, func(t *testing.T, w, other *world.World) {
		short := other.Prefixed(t)
		for _, pair := range [][2]*world.World{{w, short}, {short, w}, {short, short}} {
			holds, waits := pair[0], pair[1]
			lock := check.Must[*redislock.Lock](t)(holds.Client.Obtain(t.Context(), holds.Keys("a", "b"), world.Long, world.Fenced()))
			turns := make(chan world.Turn, 8)
			for _, waiter := range []struct {
				who, part string
				opt       *redislock.Options
			}{
				{"writer", "A", world.Queue()},
				{"of both", "Ba", &redislock.Options{Queue: true, Fenced: true}},
				{"reader", "a", world.Queue()},
				{"last", "AB", &redislock.Options{Queue: true, Fenced: true}},
			} {
				waits.StandWith(t.Context(), t, turns, waiter.who, waiter.part, waiter.opt)
			}
			_, err := holds.Client.Obtain(t.Context(), holds.Keys("a"), world.Long, nil)
			world.WantConflict(t, err, holds.Key("a"), redislock.ModeWrite)

			numbers := []int64{lock.Fence()}
			check.NoError(t, lock.Release(t.Context()))
			writer := world.WantTurn(t, turns, "writer")[0]
			world.WantNobody(t, turns)
			check.NoError(t, writer.Release(t.Context()))
			for _, both := range world.WantTurn(t, turns, "of both", "reader") { // they read a together
				if n := both.Fence(); n > 0 {
					numbers = append(numbers, n)
				}
				check.NoError(t, both.Release(t.Context()))
			}
			last := world.WantTurn(t, turns, "last")[0]
			if numbers = append(numbers, last.Fence()); len(numbers) != 3 || !slices.IsSorted(numbers) || numbers[0] == 0 {
				t.Errorf("got numbers %d, want three that grow", numbers)
			}
			check.NoError(t, last.Release(t.Context()))
			w.WantFree(t, append(w.Keys("a", "b"), "redislock:line:{"+w.Key("a")+"}")...)
		}
	})
}

// A writer with a prefix that waits with an intent keeps out readers that name the key in full, and the other way round.
func TestPrefixedIntent(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		short := w.Prefixed(t)
		for _, pair := range [][2]*world.World{{w, short}, {short, w}} {
			reads, writes := pair[0], pair[1]
			reader := check.Must[*redislock.Lock](t)(reads.Client.ObtainRead(t.Context(), reads.Keys("a"), world.Long, nil))
			got := make(chan world.Turn, 1)
			go func() {
				lock, err := writes.Client.Obtain(t.Context(), writes.Keys("a"), world.Long, &redislock.Options{
					Intent: true, RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond),
				})
				got <- world.Turn{Who: "writer", Lock: lock, Err: err}
			}()
			check.Eventually(t, world.Soon, "readers are kept out", func() bool {
				late, err := reads.Client.ObtainRead(t.Context(), reads.Keys("a"), world.Long, nil)
				if err == nil {
					check.NoError(t, late.Release(t.Context()))
					return false
				}
				world.WantConflict(t, err, reads.Key("a"), redislock.ModeIntent)
				return true
			})
			check.NoError(t, reader.Release(t.Context()))
			check.NoError(t, world.WantTurn(t, got, "writer")[0].Release(t.Context()))
			w.WantFree(t, w.Key("a"), world.IntentOf(w.Key("a")))
		}
	})
}

// Waiters behind a prefix for which their Client asks again, all of them together, keep their places among those of a Client
// that names the keys in full, as long as nothing moves.
func TestPrefixedAgain(t *testing.T) {
	t.Parallel()
	world.Bubble(t, func(t *testing.T, w *world.World, mini *redistest.Mini, _ *world.Journal) {
		ctx, cancel := context.WithCancel(t.Context())
		shortRDB := mini.Client(t)
		short := (&world.World{RDB: shortRDB, Prefix: w.Prefix}).Prefixed(t)
		together := 0
		shortRDB.AddHook(check.Around{After: func(cmd redis.Cmder) {
			if run := check.RunIn(cmd); run.Of("again") && slices.Contains(run.Keys, w.Key("a")) {
				together++
			}
		}})
		const each = 20
		turns := make(chan world.Turn, 2*each)
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("a", "b"), time.Hour, nil))
		for i := range each {
			short.Wait(ctx, turns, "short", []string{"a", "b"}, nil)
			w.Wait(ctx, turns, "whole", w.Keys("b"), nil)
			short.InLine(t, "b", 2*i+2)
		}
		before := w.InLine(t, w.Key("b"), 2*each)
		time.Sleep(2 * time.Minute)
		for i, waiter := range w.InLine(t, w.Key("b"), 2*each) {
			if !waiter.Alive || !waiter.Since.Equal(before[i].Since) || waiter.Metadata != before[i].Metadata {
				t.Errorf("place %d: got %+v, want %+v", i, waiter, before[i])
			}
		}
		if together == 0 {
			t.Error("nobody has asked for all together")
		}
		check.NoError(t, lock.Release(t.Context()))
		first := world.WantTurn(t, turns, before[0].Metadata)
		cancel()
		for range 2*each - 1 {
			if got := <-turns; got.Err == nil {
				check.NoError(t, got.Lock.Release(context.WithoutCancel(ctx)))
			}
		}
		check.NoError(t, first[0].Release(t.Context()))
		synctest.Wait()
		world.WantNothing(t, shortRDB, w.Prefix)
	})
}

// On a Cluster and on a Ring, whose channels and servers are chosen by the whole names of the keys, the same holds.
func TestPrefixedLineOfServers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) func() redis.UniversalClient{
		"cluster": func(t *testing.T) func() redis.UniversalClient {
			t.Helper()
			cluster := redistest.StartCluster(t, redistest.Redis, 3, 0)
			return func() redis.UniversalClient { return cluster.Client(t) }
		},
		"ring": func(t *testing.T) func() redis.UniversalClient {
			t.Helper()
			one, two := redistest.Start(t, redistest.Redis), redistest.Start(t, redistest.Redis)
			return func() redis.UniversalClient {
				ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": one.Addr(), "two": two.Addr()}})
				t.Cleanup(func() { _ = ring.Close() })
				return ring
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connect := start(t)
			whole := world.NewClient(t, connect())
			short := world.NewClient(t, connect(), redislock.WithKeyPrefix("lock:"))
			// Some of these tags are on each server, and keys without a tag are where their whole names are.
			sets := [][]string{{"a"}, {"b"}, {"c}"}, {"d{"}, {"{e}x", "{e}y"}, {"{f}x", "y{f}"}}
			for _, keys := range sets {
				names := make([]string, len(keys))
				for i, key := range keys {
					names[i] = short.RedisKey(key)
				}
				holder := check.Must[*redislock.Lock](t)(short.Obtain(t.Context(), keys, world.Long, &redislock.Options{Queue: true, Fenced: true}))
				waiters := world.NewWaiters(t).Apart()
				var want []string
				for i := range 6 {
					client, set := whole, names
					if i%2 == 0 {
						client, set = short, keys
					}
					who := string(rune('0' + i))
					want = append(want, who)
					waiters.WG.Go(func() { waiters.Turn(client, who, set, nil) })
					(&world.World{Client: client}).InLine(t, set[0], i+1)
				}
				watch := check.StartWatch(t)
				check.NoError(t, holder.Release(t.Context()))
				world.WantOrder(t, waiters.Served(t), want)
				world.WantNotified(t, watch)
				next := check.Must[*redislock.Lock](t)(whole.Obtain(t.Context(), names, world.Long, world.Fenced()))
				if next.Fence() <= holder.Fence() {
					t.Errorf("got number %d after %d", next.Fence(), holder.Fence())
				}
				check.NoError(t, next.Release(t.Context()))
			}
		})
	}
}
