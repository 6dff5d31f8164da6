package topology_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A replicated is a server with replicas, of which one takes its place if it fails. In a Cluster it is
// the one that has the slot of the tag.
type replicated struct {
	tag      string
	former   *redistest.Server // that was there first
	replicas []*redistest.Server
	connect  func() redis.UniversalClient
	direct   func() redis.UniversalClient // of the one that was first; it waits long for answers
	failOver func() *redistest.Server
	await    func() *redistest.Server // until another one is there
}

// replicatedBy are the ways to have replicas that are made primaries.
var replicatedBy = map[string]func(t *testing.T, replicas int) *replicated{"cluster": newClusterReplicas, "sentinel": newSentinelReplicas}

func newClusterReplicas(t *testing.T, replicas int) *replicated {
	t.Helper()
	c := redistest.StartCluster(t, redistest.Redis, 3, replicas)
	r := &replicated{tag: "{" + t.Name() + "}"}
	r.former = c.MasterOf(r.tag)
	for i := slices.Index(c.Nodes(), r.former) + 3; i < len(c.Nodes()); i += 3 {
		r.replicas = append(r.replicas, c.Nodes()[i])
	}
	r.connect = func() redis.UniversalClient { return c.Client(t) }
	r.direct = func() redis.UniversalClient {
		return c.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout, o.MaxRetries, o.PoolSize = time.Minute, -1, 32 })
	}
	r.failOver = func() *redistest.Server { return c.FailOver(r.former) }
	r.await = func() *redistest.Server {
		check.Eventually(t, 30*time.Second, "a replica is the master", func() bool { return c.MasterOf(r.tag) != r.former })
		successor := c.MasterOf(r.tag)
		c.AwaitMaster(successor)
		return successor
	}
	return r
}

func newSentinelReplicas(t *testing.T, replicas int) *replicated {
	t.Helper()
	s := redistest.StartSentinels(t, redistest.Redis, replicas, 3)
	return &replicated{
		tag: "{" + t.Name() + "}", former: s.Servers()[0], replicas: s.Servers()[1:],
		connect: func() redis.UniversalClient { return s.Client(t) },
		direct: func() redis.UniversalClient {
			return s.Servers()[0].Client(t, func(o *redis.Options) { o.ReadTimeout, o.MaxRetries, o.PoolSize = time.Minute, -1, 32 })
		},
		failOver: s.FailOver,
		await:    func() *redistest.Server { return s.AwaitSuccessor(s.Servers()[0]) },
	}
}

// client returns a Client with connections of its own.
func (r *replicated) client(t *testing.T, opts ...redislock.ClientOption) *redislock.Client {
	t.Helper()
	return world.NewClient(t, r.connect(), opts...)
}

// sever keeps from the replicas whatever the primary writes from now on. To stop them would not do:
// what is on its way to them they would read when they go on.
func (r *replicated) sever(t *testing.T) {
	t.Helper()
	for _, replica := range r.replicas {
		replica.Pause()
	}
	admin := r.former.Client(t)
	if n := check.Must[int64](t)(admin.ClientKillByFilter(t.Context(), "type", "replica").Result()); int(n) != len(r.replicas) {
		t.Fatalf("%d replicas were cut off, want %d", n, len(r.replicas))
	}
}

// succeed has the severed replicas go on after the primary was killed, and returns which one has its
// place.
func (r *replicated) succeed(t *testing.T) *redistest.Server {
	t.Helper()
	r.former.Kill()
	for _, replica := range r.replicas {
		replica.Resume()
	}
	return r.await()
}

// everyReplicated runs fn once for each way to have replicas.
func everyReplicated(t *testing.T, replicas int, fn func(t *testing.T, r *replicated)) {
	t.Helper()
	t.Parallel()
	for name, start := range replicatedBy {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fn(t, start(t, replicas))
		})
	}
}

func tagIn(k world.LockKind, r *replicated) string { return fmt.Sprintf("%s%s:", r.tag, k.Name) }

// demoted waits until the one that was first is a replica.
func (r *replicated) demoted(t *testing.T) {
	t.Helper()
	admin := r.former.Client(t)
	check.Eventually(t, 30*time.Second, "the former primary is a replica", func() bool {
		role, err := admin.Do(t.Context(), "role").Slice()
		return err == nil && len(role) > 0 && role[0] == "slave"
	})
}
