package fault_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// While a server has too few replicas nothing is obtained, and what was released stays locked. Both are done as soon as the
// replicas are back: by the strategy, and in the background.
func TestTooFewReplicas(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		w := world.New(t, redistest.Start(t, kind))
		ctx := t.Context()
		need := func(replicas int) {
			t.Helper()
			check.NoError(t, w.RDB.ConfigSet(ctx, "min-replicas-to-write", fmt.Sprint(replicas)).Err())
		}
		held := check.Must[*redislock.Lock](t)(w.Client.Obtain(ctx, w.Keys("held"), world.Long, nil))
		need(1)
		_, err := w.Client.Obtain(ctx, w.Keys("wanted"), world.Long, nil)
		if err == nil || !strings.Contains(err.Error(), "NOREPLICAS") {
			t.Fatalf("got error %v, want NOREPLICAS", err)
		}
		wanted := make(chan error, 1)
		go func() {
			lock, err := w.Client.Obtain(ctx, w.Keys("wanted"), world.Long, &redislock.Options{RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond)})
			if err == nil {
				err = lock.Release(ctx)
			}
			wanted <- err
		}()
		brief, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		if err := held.Release(brief); err == nil {
			t.Error("a release that was refused says that it was done")
		}
		if n := check.Must[int64](t)(w.RDB.Exists(ctx, w.Keys("held")...).Result()); n != 1 {
			t.Fatalf("%d keys are held, want 1", n)
		}
		need(0)
		check.NoError(t, <-wanted)
		check.Eventually(t, time.Minute, "the key is released in the background", func() bool {
			return check.Must[int64](t)(w.RDB.Exists(ctx, w.Keys("held")...).Result()) == 0
		})
	})
}

// Nothing is decided by what a replica knows, also if the Redis client may read from replicas. RouteByLatency is left out: with
// it go-redis 9.23 measures a node while it still sets it up, which the race detector sees now and then.
func TestReplicasAreNotRead(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Redis, 3, 1, "--cluster-replica-no-failover", "yes")
	var replicas []*redis.Client
	for _, node := range cluster.Nodes() {
		rdb := node.Client(t)
		if role := check.Must[[]any](t)(rdb.Do(t.Context(), "role").Slice()); role[0] == "slave" {
			replicas = append(replicas, rdb)
		}
	}
	for name, route := range map[string]func(o *redis.ClusterOptions){
		"read only": func(o *redis.ClusterOptions) { o.ReadOnly = true },
		"randomly":  func(o *redis.ClusterOptions) { o.RouteRandomly = true },
	} {
		client := world.NewClient(t, cluster.Client(t, route))
		for i := range 8 {
			check.NoError(t, world.Cycle(t.Context(), client, fmt.Sprintf("{%s%d}", name, i)))
		}
		if n := scriptsAt(t, replicas); n > 0 {
			t.Fatalf("%s: replicas have run %d scripts", name, n)
		}
	}
	// What this test looks at shows a script that a replica has run.
	check.NoError(t, replicas[0].EvalRO(t.Context(), "return 1", nil).Err())
	if n := scriptsAt(t, replicas); n != 1 {
		t.Errorf("got %d scripts at the replicas, want the one that was run there", n)
	}
}

// scriptsAt is how often servers were asked to run a script.
func scriptsAt(t *testing.T, servers []*redis.Client) (n int) {
	t.Helper()
	for _, rdb := range servers {
		n += world.Calls(t, rdb).Scripts()
	}
	return n
}
