package redislock_test

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
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// lingers is how long a subscription may outlive the last waiter that needed it.
const lingers = 9 * time.Second

// A shards is a Cluster as the tests of waiting in line see it.
type shards struct {
	*redistest.Cluster
	rdb   *redis.ClusterClient
	admin map[*redistest.Server]*redis.Client
}

func newShards(t *testing.T, replicasPerMaster int) *shards {
	t.Helper()
	s := &shards{
		Cluster: redistest.StartCluster(t, redistest.Redis, 3, replicasPerMaster),
		admin:   make(map[*redistest.Server]*redis.Client),
	}
	s.rdb = s.Client(t)
	for _, node := range s.Nodes() {
		s.admin[node] = node.Client(t)
	}
	return s
}

// client returns a Client with connections of its own.
func (s *shards) client(t *testing.T) *redislock.Client {
	t.Helper()
	return newClient(t, s.Client(t))
}

// node returns the server at which a key is.
func (s *shards) node(t *testing.T, key string) *redistest.Server {
	t.Helper()
	addr := must[*redis.Client](t)(s.rdb.MasterForKey(t.Context(), key)).Options().Addr
	return s.Nodes()[slices.Index(s.Addrs(), addr)]
}

// tags returns so many hash tags of different slots at each of the masters that are asked for.
func (s *shards) tags(t *testing.T, n int, at ...*redistest.Server) []string {
	t.Helper()
	var tags []string
	count := make(map[*redistest.Server]int)
	for i := 0; len(tags) < n*len(at); i++ {
		tag := fmt.Sprintf("{%s:%d}", t.Name(), i)
		if node := s.node(t, tag); slices.Contains(at, node) && count[node] < n {
			count[node]++
			tags = append(tags, tag)
		}
	}
	return tags
}

// others returns the masters but one, of a Cluster in which nothing has changed yet.
func (s *shards) others(one *redistest.Server) []*redistest.Server {
	return slices.DeleteFunc(s.Nodes()[:3], func(node *redistest.Server) bool { return node == one })
}

func (s *shards) wantNothing(t *testing.T) {
	t.Helper()
	for _, rdb := range s.admin {
		wantNothing(t, rdb, t.Name())
	}
}

// wantQuiet waits until nobody listens any more.
func (s *shards) wantQuiet(t *testing.T) {
	t.Helper()
	eventually(t, lingers, "nobody listens", func() bool {
		for _, rdb := range s.admin {
			if len(listening(t, rdb)) > 0 {
				return false
			}
		}
		return true
	})
}

func TestQueueCluster(t *testing.T) {
	t.Parallel()
	s := newShards(t, 0)
	t.Run("one tag", func(t *testing.T) {
		clients := []*redislock.Client{s.client(t), s.client(t)}
		home := s.node(t, "{"+t.Name()+"}")
		for n := 1; n <= 2; n++ {
			queueThrough(t, clients[:n], func() int {
				for _, node := range s.others(home) {
					if ids := listening(t, s.admin[node]); len(ids) > 0 {
						t.Errorf("connections %v listen where nobody waits", ids)
					}
				}
				return len(listening(t, s.admin[home]))
			})
		}
		s.wantNothing(t)
		for name, client := range map[string]func(t *testing.T) *redislock.Client{
			"universal": func(t *testing.T) *redislock.Client {
				t.Helper()
				return newClient(t, redis.UniversalClient(s.Client(t)))
			},
			"wrapped": func(t *testing.T) *redislock.Client {
				t.Helper()
				return wrapped{s.Client(t)}.client(t)
			},
		} {
			t.Run(name, func(t *testing.T) {
				home := s.node(t, "{"+t.Name()+"}")
				before := len(listening(t, s.admin[home]))
				queueThrough(t, []*redislock.Client{client(t)}, func() int { return len(listening(t, s.admin[home])) - before })
				s.wantNothing(t)
			})
		}
	})
	t.Run("a cold start on many tags", func(t *testing.T) { queueCold(t, s) })
	t.Run("hammer", func(t *testing.T) { queueHammer(t, s) })
	t.Run("idle tags", func(t *testing.T) { queueIdle(t, s) })
	t.Run("closed", s.wantQuiet)
}

// queueCold has many wait at once whose Client hears nothing yet: for sets in several slots of each
// master.
func queueCold(t *testing.T, s *shards) {
	t.Helper()
	tags := s.tags(t, 4, s.Nodes()...)
	for range 3 {
		first, cold := s.client(t), s.client(t)
		throng := newThrong(t)
		var holders []*redislock.Lock
		for _, tag := range tags {
			holders = append(holders, must[*redislock.Lock](t)(first.Obtain(t.Context(), []string{tag}, long, nil)))
		}
		for _, tag := range tags {
			throng.wg.Go(func() { throng.turn(cold, tag, []string{tag}, nil) })
		}
		for _, tag := range tags {
			(&world{client: first}).inLine(t, tag, 1)
		}
		watch := startWatch(t)
		for _, holder := range holders {
			noError(t, holder.Release(t.Context()))
		}
		throng.served(t)
		wereTold(t, watch)
		cold.Close()
	}
	s.wantNothing(t)
}

// queueHammer has two Clients take overlapping sets of write and read keys, in several slots of
// each master, at the same time.
func queueHammer(t *testing.T, s *shards) {
	t.Helper()
	tags := s.tags(t, 3, s.Nodes()...)
	throng := newThrong(t)
	for _, client := range []*redislock.Client{s.client(t), s.client(t)} {
		for g := range 2 * len(tags) {
			throng.wg.Go(func() {
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
					throng.turn(client, fmt.Sprintf("%s:%d:%d", tag, g, i), write, read)
				}
			})
		}
	}
	throng.served(t)
	s.wantNothing(t)
}

// queueIdle has many wait for a moment while somebody goes on waiting at the same server: what the
// others needed is unsubscribed, and the connection stays.
func queueIdle(t *testing.T, s *shards) {
	t.Helper()
	home := s.Nodes()[0]
	s.wantQuiet(t)
	tags := s.tags(t, 40, home)
	client := s.client(t)
	holder := must[*redislock.Lock](t)(client.Obtain(t.Context(), tags[:1], long, queue()))
	stays := newThrong(t)
	names := stays.line(t, 2, tags[:1], client)
	ids := listening(t, s.admin[home])
	if len(ids) != 1 {
		t.Fatalf("got connections %v, want one", ids)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	turns := make(chan turn, len(tags))
	for _, tag := range tags[1:] {
		lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{tag}, long, nil))
		defer func() { noError(t, lock.Release(t.Context())) }()
		(&world{client: client}).wait(ctx, turns, tag, []string{tag}, nil)
	}
	eventually(t, 5*time.Second, "all channels are heard", func() bool { return len(heard(t, s.admin[home], "shard")) == len(tags) })
	cancel()
	eventually(t, lingers, "only the channel that is waited on is heard", func() bool {
		channels := slices.Collect(maps.Keys(heard(t, s.admin[home], "shard")))
		return len(channels) == 1 && strings.Contains(channels[0], tags[0])
	})
	if now := listening(t, s.admin[home]); !slices.Equal(now, ids) {
		t.Errorf("got connections %v, want still %v", now, ids)
	}
	watch := startWatch(t)
	noError(t, holder.Release(t.Context()))
	wantOrder(t, stays.served(t), names)
	wereTold(t, watch)
}

// An Obtain ends with its context also if no node of the Cluster answers.
func TestQueueClusterSilent(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	defer silent.Close()
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{silent.Addr().String()}})
	defer rdb.Close()
	client := redislock.New(rdb)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	watch := startWatch(t)
	_, err = client.Obtain(ctx, []string{t.Name()}, long, queue())
	wantIs(t, err, context.DeadlineExceeded)
	if took := watch.took(); took > 2*time.Second {
		t.Errorf("it took %v to see that the context had ended", took)
	}
}
