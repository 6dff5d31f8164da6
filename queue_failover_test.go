package redislock_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// afterFailover is within what everybody has to be served, from the moment on at which the master
// goes.
const afterFailover = 20 * time.Second

// A replicated server has the lock in the hands of one, for whom many wait in two Clients.
type replicated struct {
	set     []string
	clients []*redislock.Client
	holder  *redislock.Lock
	throng  *throng
	names   []string
}

// newReplicated returns when the replicas know as much as their master.
func newReplicated(t *testing.T, master *redis.Client, replicas, n int, clients ...*redislock.Client) *replicated {
	t.Helper()
	set := []string{"{" + t.Name() + "}a", "{" + t.Name() + "}b"}
	r := &replicated{set: set, clients: clients, throng: newThrong(t)}
	r.holder = must[*redislock.Lock](t)(clients[0].Obtain(t.Context(), set, long, queue()))
	r.names = r.throng.line(t, n, set, clients...)
	caughtUp(t, master, replicas)
	return r
}

// caughtUp waits until the replicas have all that was written. WAIT is about what was written before
// the last command of its own connection.
func caughtUp(t *testing.T, master *redis.Client, replicas int) {
	t.Helper()
	conn := master.Conn()
	defer conn.Close()
	eventually(t, 10*time.Second, "the replicas have caught up", func() bool {
		// Not a command with a key: its slot may be elsewhere, and what is refused does not count.
		conn.Ping(t.Context())
		n, err := conn.Wait(t.Context(), replicas, time.Second).Result()
		return err == nil && int(n) >= replicas
	})
}

// goesOn checks that everybody is served: in order if they hear of it where the lock is now.
func (r *replicated) goesOn(t *testing.T, master *redis.Client, kind string, inOrder bool) {
	t.Helper()
	if inOrder {
		eventually(t, afterFailover, "both Clients hear at the new master", func() bool {
			return len(heard(t, master, kind)) == len(r.clients)
		})
		// Somebody who was to lose its place would have lost it when it asked for the first time.
		(&world{client: r.clients[0]}).inLine(t, r.set[1], len(r.names))
	}
	watch := startWatch(t)
	noError(t, r.holder.Release(t.Context()))
	order := r.throng.served(t)
	if inOrder {
		wantOrder(t, order, r.names)
	}
	if len(order) != len(r.names) {
		t.Errorf("%d were served, want %d", len(order), len(r.names))
	}
	took := watch.took()
	t.Logf("all were served in %v", took)
	if took > afterFailover {
		t.Errorf("it took %v", took)
	}
	wantOnlyGuards(t, master, t.Name())
}

func TestQueueClusterFailover(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(s *shards, master *redistest.Server) *redistest.Server{
		"failover": func(s *shards, master *redistest.Server) *redistest.Server { return s.FailOver(master) },
		"killed": func(s *shards, master *redistest.Server) *redistest.Server {
			heir := s.ReplicaOf(master)
			master.Kill()
			s.AwaitMaster(heir)
			return heir
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShards(t, 1)
			for i, order := range []string{"in order", "at once"} {
				t.Run(order, func(t *testing.T) {
					home := s.MasterOf("{" + t.Name() + "}")
					clients := []*redislock.Client{newClient(t, s.Client(t)), wrapped{s.Client(t)}.client(t)}
					r := newReplicated(t, s.admin[home], 1, 20, clients...)
					heir := lose(s, home)
					r.goesOn(t, s.admin[heir], "shard", i == 0)
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
			return s.AwaitHeir(former)
		},
	} {
		for i, order := range []string{"in order", "at once"} {
			t.Run(name+" "+order, func(t *testing.T) {
				t.Parallel()
				s := redistest.StartSentinels(t, redistest.Redis, 1, 3)
				r := newReplicated(t, s.Primary().Client(t), 1, 20, newClient(t, s.Client(t)), newClient(t, s.Client(t)))
				heir := lose(s)
				r.goesOn(t, heir.Client(t), "", i == 0)
			})
		}
	}
}

// A subscription may be to a server that is a replica now. What is published at its primary comes
// there too, though nobody hears it by the count of the primary: that a grant was withdrawn for this
// must not leave anybody with a lock.
func TestQueueHeardAtReplica(t *testing.T) {
	t.Parallel()
	former := redistest.Start(t, redistest.Redis)
	heir := redistest.Start(t, redistest.Redis, "--replicaof", "127.0.0.1", fmt.Sprint(former.Port()))
	var primary atomic.Pointer[redistest.Server]
	primary.Store(former)
	client := func() *redislock.Client {
		return newClient(t, former.Client(t, func(o *redis.Options) {
			o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, primary.Load().Addr())
			}
		}))
	}
	r := newReplicated(t, former.Client(t), 1, 6, client(), client())
	noError(t, heir.Client(t).ReplicaOf(t.Context(), "no", "one").Err())
	primary.Store(heir)
	noError(t, former.Client(t).ReplicaOf(t.Context(), "127.0.0.1", fmt.Sprint(heir.Port())).Err())
	noError(t, former.Client(t).ClientKillByFilter(t.Context(), "type", "normal").Err())
	caughtUp(t, heir.Client(t), 1)
	if n := len(listening(t, former.Client(t))); n != 2 {
		t.Fatalf("%d connections listen at the replica, want one of each Client", n)
	}
	r.goesOn(t, heir.Client(t), "", false)
}
