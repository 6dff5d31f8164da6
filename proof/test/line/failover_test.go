package line_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// afterFailover is the time within which everybody has to be served after the master has gone.
const afterFailover = 20 * time.Second

// A replicated is a server with a lock that one caller holds, and for which many wait in two Clients.
type replicated struct {
	set     []string
	clients []*redislock.Client
	holder  *redislock.Lock
	waiters *world.Waiters
	names   []string
}

// newReplicated returns when the replicas know as much as their master.
func newReplicated(t *testing.T, master *redis.Client, replicas, n int, clients ...*redislock.Client) *replicated {
	t.Helper()
	set := []string{"{" + t.Name() + "}a", "{" + t.Name() + "}b"}
	r := &replicated{set: set, clients: clients, waiters: world.NewWaiters(t)}
	r.holder = check.Must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), set, world.Long, world.Queue()))
	r.names = r.waiters.Line(t, n, set, clients...)
	world.CaughtUp(t, master, replicas)
	return r
}

// goesOn checks that everybody is served: in order if they have subscribed where the lock is now.
func (r *replicated) goesOn(t *testing.T, master *redis.Client, kind string, inOrder bool) {
	t.Helper()
	if inOrder {
		check.Eventually(t, afterFailover, "both Clients have subscribed at the new master", func() bool {
			return len(subscribers(t, master, kind)) == len(r.clients)
		})
		// A waiter that loses its place loses it when it asks for the first time.
		(&world.World{Client: r.clients[0]}).InLine(t, r.set[1], len(r.names))
	}
	watch := check.StartWatch(t)
	check.Eventually(t, afterFailover, "the client knows the new master", func() bool {
		err := r.holder.Release(t.Context())
		if !errors.Is(err, syscall.ECONNREFUSED) { // that of one that was killed
			check.NoError(t, err)
		}
		return err == nil
	})
	order := r.waiters.Served(t)
	if inOrder {
		world.WantOrder(t, order, r.names)
	}
	if len(order) != len(r.names) {
		t.Errorf("%d were served, want %d", len(order), len(r.names))
	}
	took := watch.Took()
	t.Logf("all were served in %v", took)
	if took > afterFailover {
		t.Errorf("it took %v", took)
	}
	wantOnlyGuards(t, master, t.Name())
}

func TestQueueClusterFailover(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(s *world.Shards, master *redistest.Server) *redistest.Server{
		"failover": func(s *world.Shards, master *redistest.Server) *redistest.Server { return s.FailOver(master) },
		"killed": func(s *world.Shards, master *redistest.Server) *redistest.Server {
			successor := s.ReplicaOf(master)
			master.Kill()
			s.AwaitMaster(successor)
			return successor
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := world.NewShards(t, 1)
			for i, order := range []string{"in order", "at once"} {
				t.Run(order, func(t *testing.T) {
					home := s.MasterOf("{" + t.Name() + "}")
					clients := []*redislock.Client{world.NewClient(t, s.Client(t)), wrapped{s.Client(t)}.client(t)}
					r := newReplicated(t, s.Admin[home], 1, 20, clients...)
					successor := lose(s, home)
					r.goesOn(t, s.Admin[successor], "shard", i == 0)
				})
			}
		})
	}
}

func TestQueueSentinel(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(s *redistest.Sentinels) *redistest.Server{
		"failover": func(s *redistest.Sentinels) *redistest.Server { return s.FailOver() },
		"killed": func(s *redistest.Sentinels) *redistest.Server {
			former := s.Primary()
			former.Kill()
			return s.AwaitSuccessor(former)
		},
	} {
		for i, order := range []string{"in order", "at once"} {
			t.Run(name+" "+order, func(t *testing.T) {
				t.Parallel()
				s := redistest.StartSentinels(t, redistest.Redis, 1, 3)
				one, two := s.Client(t), s.Client(t)
				r := newReplicated(t, s.Primary().Client(t), 1, 20, world.NewClient(t, one), world.NewClient(t, two))
				successor := lose(s)
				s.Followed(successor, one, two) // a Release at the former primary would be lost
				r.goesOn(t, successor.Client(t), "", i == 0)
			})
		}
	}
}

// A subscription may be to a server that is a replica now. What is published at its primary comes
// there too, though the primary counts no subscriber, and so withdraws the grant. A waiter that has received that grant
// must not believe that it has the lock.
func TestQueueHeardAtReplica(t *testing.T) {
	t.Parallel()
	former := redistest.Start(t, redistest.Redis)
	successor := redistest.Start(t, redistest.Redis, "--replicaof", "127.0.0.1", fmt.Sprint(former.Port()))
	var primary atomic.Pointer[redistest.Server]
	primary.Store(former)
	client := func() *redislock.Client {
		return world.NewClient(t, former.Client(t, func(o *redis.Options) {
			o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, primary.Load().Addr())
			}
		}))
	}
	r := newReplicated(t, former.Client(t), 1, 6, client(), client())
	check.NoError(t, successor.Client(t).ReplicaOf(t.Context(), "no", "one").Err())
	primary.Store(successor)
	check.NoError(t, former.Client(t).ReplicaOf(t.Context(), "127.0.0.1", fmt.Sprint(successor.Port())).Err())
	check.NoError(t, former.Client(t).ClientKillByFilter(t.Context(), "type", "normal").Err())
	world.CaughtUp(t, successor.Client(t), 1)
	if n := len(listening(t, former.Client(t))); n != 2 {
		t.Fatalf("%d connections listen at the replica, want one of each Client", n)
	}
	r.goesOn(t, successor.Client(t), "", false)
}
