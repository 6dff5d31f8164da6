package line_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// wantOnlyGuards is wantNothing where a request may not have been answered.
func wantOnlyGuards(t *testing.T, rdb *redis.Client, prefix string) {
	t.Helper()
	keys := check.Must[[]string](t)(rdb.Keys(t.Context(), "*"+prefix+"*").Result())
	if keys = check.WithoutGuards(t.Context(), rdb, keys...); len(keys) > 0 {
		t.Errorf("%q are left", keys)
	}
}

// listening returns the ids of the connections that have subscribed at a server.
func listening(t *testing.T, rdb *redis.Client) []string {
	t.Helper()
	var ids []string
	for line := range strings.Lines(check.Must[string](t)(rdb.Do(t.Context(), "client", "list", "type", "pubsub").Text())) {
		id, _, _ := strings.Cut(line, " ")
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// subscribers returns how many have subscribed to each channel that Clients wait on at a server.
func subscribers(t *testing.T, rdb *redis.Client, kind string) map[string]int {
	t.Helper()
	names := check.Must[[]string](t)(rdb.Do(t.Context(), "pubsub", kind+"channels", "redislock:wake:*").StringSlice())
	args := []any{"pubsub", kind + "numsub"}
	for _, name := range names {
		args = append(args, name)
	}
	counts := check.Must[[]any](t)(rdb.Do(t.Context(), args...).Slice())
	all := make(map[string]int)
	for i := 0; i+1 < len(counts); i += 2 {
		all[counts[i].(string)] = int(counts[i+1].(int64))
	}
	return all
}

func TestQueueStandalone(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("protocol %d", protocol), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t, redistest.Redis)
			admin := server.Client(t)
			var clients []*redislock.Client
			var asked sync.Map // ids of waiters
			for range 2 {
				rdb := server.Client(t, func(o *redis.Options) { o.Protocol = protocol })
				rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
					if id, _ := check.RunIn(cmd).Waiter(); id != "" {
						asked.Store(id, true)
					}
				}})
				clients = append(clients, world.NewClient(t, rdb))
			}
			serveInLine(t, clients, func() int { return len(listening(t, admin)) })

			// A connection that is lost is replaced at once, and nobody loses its place.
			key := t.Name() + ":lost"
			holder := check.Must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), []string{key}, world.Long, nil))
			waiters := world.NewWaiters(t)
			names := waiters.Line(t, 6, []string{key}, clients...)
			before := listening(t, admin)
			asked.Clear()
			if n := check.Must[int64](t)(admin.ClientKillByFilter(t.Context(), "type", "pubsub").Result()); n != 2 {
				t.Fatalf("%d connections were closed, want one of each Client", n)
			}
			// go-redis opens a connection at once, which is given up for another one. When that is heard, all ask again.
			check.Eventually(t, world.Soon, "both have subscribed again, and their waiters have asked again", func() bool {
				now, n := listening(t, admin), 0
				asked.Range(func(any, any) bool { n++; return true })
				return n == len(names) && len(now) == 2 && len(subscribers(t, admin, "")) == 2 &&
					!slices.ContainsFunc(now, func(id string) bool { return slices.Contains(before, id) })
			})
			check.NoError(t, holder.Release(t.Context()))
			world.WantOrder(t, waiters.Served(t), names)
			world.WantNothing(t, admin, t.Name())
		})
	}
}

// serveInLine has waiters of all Clients stand in line for a set with one tag, and be served in
// order. While they wait so many connections listen as there are Clients.
func serveInLine(t *testing.T, clients []*redislock.Client, listening func() int) {
	t.Helper()
	set := []string{"{" + t.Name() + "}a", "{" + t.Name() + "}b"}
	holder := check.Must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), set, world.Long, world.Queue()))
	waiters := world.NewWaiters(t)
	names := waiters.Line(t, 8, set, clients...)
	if n := listening(); n != len(clients) {
		t.Errorf("%d connections listen, want one of each of %d Clients", n, len(clients))
	}
	watch := check.StartWatch(t)
	check.NoError(t, holder.Release(t.Context()))
	world.WantOrder(t, waiters.Served(t), names)
	world.WantNotified(t, watch)
	states := check.Must[[]redislock.KeyState](t)(clients[0].Inspect(t.Context(), set))
	for _, state := range states {
		if len(state.Holders)+len(state.Line) > 0 {
			t.Errorf("got state %+v, want that of a free key", state)
		}
	}
}

// A wrapped client has a method of its own, and all others of what it embeds.
type wrapped struct{ *redis.ClusterClient }

func (wrapped) Mine() {}

// client returns a Client with WithWrapped.
func (w wrapped) client(t *testing.T) *redislock.Client {
	t.Helper()
	return world.NewClient(t, w, redislock.WithWrapped(w.ClusterClient))
}

func TestQueueNeedsSubscriptions(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		client := world.NewClient(t, world.Bare{Scripter: w.RDB})
		key := w.Key("k")
		for _, obtain := range []func() error{
			func() error {
				_, err := client.Obtain(t.Context(), []string{key}, world.Long, world.Queue())
				return err
			},
			func() error {
				_, err := client.ObtainRead(t.Context(), []string{key}, world.Long, world.Queue())
				return err
			},
			func() error {
				return client.With(t.Context(), []string{key}, world.Long, world.Queue(), func(context.Context) error { return nil })
			},
		} {
			world.WantUnsent(t, w.RDB, errors.ErrUnsupported, obtain)
		}
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{key}, world.Long, nil))
		check.NoError(t, lock.Release(t.Context()))
	})
}

// A set of read keys that are free is had at once, whoever has subscribed to what.
func TestQueueReadsFreeKeys(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		keys := w.Keys("a", "b")
		lock := check.Must[*redislock.Lock](t)(w.Client.ObtainSet(t.Context(), redislock.Set{Write: keys[:1], Read: keys[1:]}, world.Long, world.Queue()))
		reader := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), keys[1:], world.Long, world.Queue()))
		check.NoError(t, lock.Release(t.Context()))
		check.NoError(t, reader.Release(t.Context()))
		w.WantNoTrace(t, keys...)
	})
}

func TestQueueRing(t *testing.T) {
	t.Parallel()
	servers := map[string]*redistest.Server{
		"one": redistest.Start(t, redistest.Redis), "two": redistest.Start(t, redistest.Redis),
	}
	newRing := func() *redis.Ring {
		rdb := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"one": servers["one"].Addr(), "two": servers["two"].Addr()}})
		t.Cleanup(func() { _ = rdb.Close() })
		return rdb
	}
	ring := newRing()
	clients := []*redislock.Client{world.NewClient(t, ring), world.NewClient(t, newRing())}
	world.WantSpanningRefused(t, newRing())
	world.WantUnsent(t, newRing(), redislock.ErrCrossSlot, func() error {
		_, err := world.NewClient(t, newRing()).Obtain(t.Context(), []string{"a", "b"}, world.Long, world.Queue())
		return err
	})

	waiters := world.NewWaiters(t)
	var holders []*redislock.Lock
	want := make(map[string][]string) // by address
	tags := make(map[string]int)
	for i := 0; i < 6 || len(tags) < 2; i++ {
		tag := fmt.Sprintf("{%s:%d}", t.Name(), i)
		shard := check.Must[*redis.Client](t)(ring.GetShardClientForKey(tag)).Options().Addr
		set := []string{tag + "a", tag + "b"}
		holders = append(holders, check.Must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), set, world.Long, world.Queue())))
		want[tag] = waiters.Line(t, 4, set, clients...)
		tags[shard]++
	}
	for _, server := range servers {
		admin := server.Client(t)
		channels := subscribers(t, admin, "")
		if got, want := len(channels), tags[server.Addr()]*len(clients); got != want {
			t.Errorf("got channels %v on one shard, want one for each Client of %d tags", channels, want)
		}
		if ids := listening(t, admin); len(ids) != len(clients) {
			t.Errorf("got connections %v on one shard, want one of each Client", ids)
		}
		if n := len(subscribers(t, admin, "shard")); n != 0 {
			t.Errorf("%d channels are sharded, want none", n)
		}
	}
	watch := check.StartWatch(t)
	for _, holder := range holders {
		check.NoError(t, holder.Release(t.Context()))
	}
	order := waiters.Served(t)
	world.WantNotified(t, watch)
	for tag, names := range want {
		world.WantOrder(t, slices.DeleteFunc(slices.Clone(order), func(who string) bool { return !strings.HasPrefix(who, tag) }), names)
	}
	for _, server := range servers {
		world.WantNothing(t, server.Client(t), t.Name())
	}
}
