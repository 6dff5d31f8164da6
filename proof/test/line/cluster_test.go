package line_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// unsubscribed is how long a subscription may outlive the last waiter that needed it.
const unsubscribed = 9 * time.Second

// wantQuiet waits until nobody listens any more.
func wantQuiet(t *testing.T, s *world.Shards) {
	t.Helper()
	check.Eventually(t, unsubscribed, "nobody listens", func() bool {
		for _, rdb := range s.Admin {
			if len(listening(t, rdb)) > 0 {
				return false
			}
		}
		return true
	})
}

func TestQueueCluster(t *testing.T) {
	t.Parallel()
	s := world.NewShards(t, 0)
	t.Run("one tag", func(t *testing.T) {
		clients := []*redislock.Client{s.NewClient(t), s.NewClient(t)}
		home := s.Node(t, "{"+t.Name()+"}")
		for n := 1; n <= 2; n++ {
			serveInLine(t, clients[:n], func() int {
				for _, node := range s.Others(home) {
					if ids := listening(t, s.Admin[node]); len(ids) > 0 {
						t.Errorf("connections %v listen where nobody waits", ids)
					}
				}
				return len(listening(t, s.Admin[home]))
			})
		}
		s.WantNothing(t)
		for name, client := range map[string]func(t *testing.T) *redislock.Client{
			"universal": func(t *testing.T) *redislock.Client {
				t.Helper()
				return world.NewClient(t, redis.UniversalClient(s.Client(t)))
			},
			"wrapped": func(t *testing.T) *redislock.Client {
				t.Helper()
				return wrapped{s.Client(t)}.client(t)
			},
		} {
			t.Run(name, func(t *testing.T) {
				home := s.Node(t, "{"+t.Name()+"}")
				before := listening(t, s.Admin[home]) // of Clients before, which cease to listen at some time
				serveInLine(t, []*redislock.Client{client(t)}, func() int {
					return len(slices.DeleteFunc(listening(t, s.Admin[home]), func(id string) bool { return slices.Contains(before, id) }))
				})
				s.WantNothing(t)
			})
		}
	})
	t.Run("a cold start on many tags", func(t *testing.T) { lineCold(t, s) })
	t.Run("hammer", func(t *testing.T) { lineHammer(t, s) })
	t.Run("idle tags", func(t *testing.T) { lineIdle(t, s) })
	t.Run("closed", func(t *testing.T) { wantQuiet(t, s) })
}

// lineCold has many wait at once whose Client has subscribed to nothing yet: for sets in several slots of each
// master.
func lineCold(t *testing.T, s *world.Shards) {
	t.Helper()
	tags := s.Tags(t, 4, s.Nodes()...)
	for range 3 {
		first, cold := s.NewClient(t), s.NewClient(t)
		waiters := world.NewWaiters(t)
		var holders []*redislock.Lock
		for _, tag := range tags {
			holders = append(holders, check.Must[*redislock.Lock](t)(first.Obtain(t.Context(), []string{tag}, world.Long, nil)))
		}
		for _, tag := range tags {
			waiters.WG.Go(func() { waiters.Turn(cold, tag, []string{tag}, nil) })
		}
		for _, tag := range tags {
			(&world.World{Client: first}).InLine(t, tag, 1)
		}
		watch := check.StartWatch(t)
		for _, holder := range holders {
			check.NoError(t, holder.Release(t.Context()))
		}
		waiters.Served(t)
		world.WantNotified(t, watch)
		cold.Close()
	}
	s.WantNothing(t)
}

// lineHammer has two Clients take overlapping sets of write and read keys, in several slots of
// each master, at the same time.
func lineHammer(t *testing.T, s *world.Shards) {
	t.Helper()
	tags := s.Tags(t, 3, s.Nodes()...)
	waiters := world.NewWaiters(t)
	for _, client := range []*redislock.Client{s.NewClient(t), s.NewClient(t)} {
		for g := range 2 * len(tags) {
			waiters.WG.Go(func() {
				tag := tags[g%len(tags)]
				keys := []string{tag + "a", tag + "b", tag + "c"}
				for i := range 10 {
					one := (g + i) % 3
					write, read := keys[one:one+1], slices.Delete(slices.Clone(keys), one, one+1)
					switch g % 4 {
					case 0:
						write, read = keys[one:], nil
					case 1:
						write, read = nil, keys[one:]
					}
					waiters.Turn(client, fmt.Sprintf("%s:%d:%d", tag, g, i), write, read)
				}
			})
		}
	}
	waiters.Served(t)
	s.WantNothing(t)
}

// lineIdle has many wait for a moment while somebody goes on waiting at the same server: what the
// others needed is unsubscribed, and the connection stays.
func lineIdle(t *testing.T, s *world.Shards) {
	t.Helper()
	home := s.Nodes()[0]
	wantQuiet(t, s)
	tags := s.Tags(t, 40, home)
	client := s.NewClient(t)
	holder := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), tags[:1], world.Long, world.Queue()))
	stays := world.NewWaiters(t)
	names := stays.Line(t, 2, tags[:1], client)
	ids := listening(t, s.Admin[home])
	if len(ids) != 1 {
		t.Fatalf("got connections %v, want one", ids)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turns := make(chan world.Turn, len(tags))
	for _, tag := range tags[1:] {
		lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{tag}, world.Long, nil))
		defer func() { check.NoError(t, lock.Release(t.Context())) }()
		(&world.World{Client: client}).Wait(ctx, turns, tag, []string{tag}, nil)
	}
	check.Eventually(t, 5*time.Second, "all channels are subscribed to", func() bool { return len(subscribers(t, s.Admin[home], "shard")) == len(tags) })
	cancel()
	check.Eventually(t, unsubscribed, "only the channel that is waited on is subscribed to", func() bool {
		channels := slices.Collect(maps.Keys(subscribers(t, s.Admin[home], "shard")))
		return len(channels) == 1 && strings.Contains(channels[0], tags[0])
	})
	if now := listening(t, s.Admin[home]); !slices.Equal(now, ids) {
		t.Errorf("got connections %v, want still %v", now, ids)
	}
	watch := check.StartWatch(t)
	check.NoError(t, holder.Release(t.Context()))
	world.WantOrder(t, stays.Served(t), names)
	world.WantNotified(t, watch)
}

// An Obtain ends with its context also if no node of the Cluster answers.
func TestQueueClusterSilent(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	check.NoError(t, err)
	defer silent.Close()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{silent.Addr().String()}})
	defer rdb.Close()
	client := redislock.New(rdb)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	watch := check.StartWatch(t)
	_, err = client.Obtain(ctx, []string{t.Name()}, world.Long, world.Queue())
	check.Is(t, err, context.DeadlineExceeded)
	if took := watch.Took(); took > 2*time.Second {
		t.Errorf("it took %v to see that the context had ended", took)
	}
}
