package topology_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A caller that can wait for replicas only for a moment is not kept waiting by callers that can wait for a second.
func TestReplicasPatience(t *testing.T) {
	t.Parallel()
	relay := redistest.NewRelay(t, redistest.Start(t, redistest.Redis).Addr()) // it has none
	answered := make(chan struct{})
	answer := sync.OnceFunc(func() { close(answered) })
	defer answer()
	var waiting atomic.Int64
	relay.OnRequest(func(name string, args []string) {
		if name == "WAIT" && args[1] == "1000" {
			waiting.Add(1)
			<-answered
		}
	})
	client := world.NewClient(t, relay.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Minute }), redislock.WithReplicas(1))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	done := make(chan error, 4)
	for i := range cap(done) {
		go func() {
			_, err := client.Obtain(t.Context(), []string{fmt.Sprint("long", i)}, world.Long, nil)
			done <- err
		}()
	}
	check.Eventually(t, world.Polled, "as many are under way as may be", func() bool { return waiting.Load() >= 2 })
	_, err := client.Obtain(ctx, []string{"short"}, 40*time.Millisecond, nil)
	check.Is(t, err, redislock.ErrNotReplicated)
	answer()
	for range cap(done) {
		check.Is(t, <-done, redislock.ErrNotReplicated)
	}
}

// Replicas are waited for half as long as the read time-out, and what was answered meanwhile counts.
func TestReplicasWithinReadTimeout(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis) // it has no replicas
	short := func(o *redis.Options) { o.MaxRetries, o.ReadTimeout = -1, 1800*time.Millisecond }
	plain := world.NewClient(t, server.Client(t))
	holder := check.Must[*redislock.Lock](t)(plain.Obtain(t.Context(), []string{"held"}, world.Long, nil))
	rdb := server.Client(t, short)
	var ms atomic.Int64 // for which replicas are waited for
	rdb.AddHook(check.Around{Before: func(cmd redis.Cmder) {
		if cmd.Name() == "wait" {
			ms.Store(cmd.Args()[2].(int64))
		}
	}})
	client := world.NewClient(t, rdb, redislock.WithReplicas(1))
	_, err := client.Obtain(t.Context(), []string{"held"}, world.Long, nil)
	world.WantConflict(t, err, "held", redislock.ModeWrite)
	_, err = client.Obtain(t.Context(), []string{"free"}, world.Long, nil)
	check.Is(t, err, redislock.ErrNotReplicated)
	if got := ms.Load(); got != 900 {
		t.Errorf("got a wait of %d ms for replicas, want half of the time-out of 1800", got)
	}
	check.NoError(t, holder.Release(t.Context()))
}

// join adds a master without slots, and a replica of it, to a Cluster.
func join(t *testing.T, s *world.Shards) *redistest.Server {
	t.Helper()
	args := []string{"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "5000"}
	master, replica := redistest.Start(t, redistest.Redis, args...), redistest.Start(t, redistest.Redis, args...)
	ctx, to, copies := t.Context(), master.Client(t), replica.Client(t)
	for _, node := range s.Nodes() {
		for _, one := range []*redistest.Server{master, replica} {
			check.NoError(t, node.Client(t).ClusterMeet(ctx, "127.0.0.1", strconv.Itoa(one.Port())).Err())
		}
	}
	id := check.Must[string](t)(to.Do(ctx, "CLUSTER", "MYID").Text())
	check.Eventually(t, 20*time.Second, "they have met", func() bool { return copies.ClusterReplicate(ctx, id).Err() == nil })
	for _, node := range s.Nodes() {
		rdb := node.Client(t)
		check.Eventually(t, 20*time.Second, "everybody knows", func() bool { return strings.Contains(rdb.ClusterNodes(ctx).Val(), id) })
	}
	check.Eventually(t, 20*time.Second, "the replica follows", func() bool {
		return strings.Contains(to.ClusterInfo(ctx).Val(), "cluster_state:ok") &&
			strings.Contains(to.Info(ctx, "replication").Val(), "state=online")
	})
	return master
}

// The first slot of a new master: a caller that asks for a key there is sent to a node that has no slots yet.
func TestReplicasMoveToNewMaster(t *testing.T) {
	t.Parallel()
	s := world.NewShards(t, 1)
	master := join(t, s)
	client, tag := world.NewClient(t, s.Client(t), redislock.WithReplicas(1)), "{"+t.Name()+"}"
	lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), []string{tag}, 10*time.Second, &redislock.Options{
		Watchdog: true, RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond),
	}))
	held := lock.Context(t.Context())
	from, to := s.MasterOf(tag).Client(t), master.Client(t)
	slot := check.Must[int64](t)(from.ClusterKeySlot(t.Context(), tag).Result())
	fromID := check.Must[string](t)(from.Do(t.Context(), "CLUSTER", "MYID").Text())
	toID := check.Must[string](t)(to.Do(t.Context(), "CLUSTER", "MYID").Text())
	check.NoError(t, to.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID).Err())
	check.NoError(t, from.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "MIGRATING", toID).Err())
	check.NoError(t, from.Do(t.Context(), "MIGRATE", "127.0.0.1", master.Port(), "", 0, 5000, "KEYS", tag).Err())

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	check.Eventually(t, 20*time.Second, "a lease counts", func() bool { return lock.Refresh(ctx, 10*time.Second) == nil })
	if world.IsDone(held) {
		t.Errorf("lost: %v", context.Cause(held))
	}
	check.NoError(t, to.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", toID).Err())
	check.NoError(t, from.Do(t.Context(), "CLUSTER", "SETSLOT", slot, "NODE", toID).Err())
	check.NoError(t, lock.Release(t.Context()))
}
