package doctor

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// follow starts a replica of a server.
func follow(t *testing.T, primary *redistest.Server, args ...string) *redistest.Server {
	t.Helper()
	args = append([]string{"--replicaof", "127.0.0.1", strconv.Itoa(primary.Port())}, args...)
	replica := redistest.Start(t, redistest.Redis, args...)
	linked(t, primary)
	return replica
}

// linked waits until a primary has its one replica.
func linked(t *testing.T, primary *redistest.Server) {
	t.Helper()
	rdb := primary.Client(t)
	check.Eventually(t, time.Minute, "the replica is online", func() bool {
		return strings.Count(rdb.Info(t.Context(), "replication").Val(), "state=online") == 1
	})
}

// A primary and its replica, which no Sentinel knows.
func TestReplicas(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t, redistest.Redis)
	replica := follow(t, primary)
	rdb, admin := primary.Client(t), replica.Client(t)
	set := func(rdb *redis.Client, name, value string) {
		t.Helper()
		check.NoError(t, rdb.ConfigSet(t.Context(), name, value).Err())
	}
	configured := func(n int) func(*patient) { return func(p *patient) { p.opts.replicas = n } }

	want(t, examined(t, rdb, "replicas"), OK, "1 replica of 1")
	want(t, examined(t, rdb, "replicas", configured(2)), Fault, "1 replica of 2")
	want(t, examined(t, rdb, "replicas", configured(0)), Warning, "0 configured")
	want(t, examined(t, rdb, "server"), OK, "replica")
	want(t, examined(t, rdb, "persistence"), Warning, "the replicas forget them as well")

	want(t, examined(t, rdb, "min-replicas"), Warning, "is off")
	set(rdb, "min-replicas-to-write", "1")
	check.Eventually(t, time.Minute, "one replica is enough", func() bool { return has(examined(t, rdb, "min-replicas"), OK, "1 good replica") })
	set(rdb, "min-replicas-to-write", "2")
	want(t, examined(t, rdb, "min-replicas"), Fault, "1 good replica")

	set(admin, "replica-read-only", "no")
	want(t, examined(t, rdb, "replicas"), Warning, "takes writes")
	set(admin, "replica-read-only", "yes")
	set(admin, "maxmemory", "100mb")
	set(admin, "maxmemory-policy", "allkeys-lru")
	found := examined(t, rdb, "eviction")
	want(t, found, Fault, "allkeys-lru")
	if len(found) != 2 || len(found[1].Servers) != 1 || found[1].Servers[0] != replica.Addr() {
		t.Errorf("the replica alone has another policy: %s", list(found))
	}
	admin.Do(t.Context(), "replicaof", "127.0.0.1", "1")
	want(t, []Finding{newNode(t.Context(), replica.Addr(), admin).judgeReplica()}, Fault, "link to the primary is down")
	admin.Do(t.Context(), "replicaof", "no", "one")
	want(t, []Finding{newNode(t.Context(), replica.Addr(), admin).judgeReplica()}, Fault, "takes itself for a primary")
}

// A replica that only its primary can reach is there, and the servers of which nothing is known are named whichever check is asked for.
func TestOutOfReach(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t, redistest.Redis)
	follow(t, primary, "--replica-announce-ip", "127.0.0.1", "--replica-announce-port", "1")
	rdb := primary.Client(t)
	want(t, examined(t, rdb, "server"), Unknown, "cannot be reached from here")
	want(t, examined(t, rdb, "replicas"), OK, "1 replica of 1")

	nobody := redis.NewClient(bounded(rdb.Options(), "127.0.0.1:1"))
	defer nobody.Close()
	gone := &patient{conn: &cli.Conn{}, nodes: []*node{newNode(t.Context(), "127.0.0.1:1", nobody)}}
	only := check.Must[[]Check](t)(chosen([]string{"eviction"}))
	want(t, gone.absent(only), Fault, "cannot be reached")
	if found := gone.absent(checks()); len(found) > 0 {
		t.Errorf("told twice: %s", list(found))
	}
}

// A server that goes away in the middle is no good news.
func TestGoneInTheMiddle(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Redis)
	for _, name := range []string{"rights", "clocks", "latency", "lifetimes"} {
		rdb := server.Client(t, func(o *redis.Options) { o.MaxRetries, o.DialerRetries = -1, 1 })
		found := examined(t, rdb, name, func(*patient) { server.Kill() })
		want(t, found, Fault, "no answer")
		server.Restart()
	}
}

// A replica whose clock is ahead, or behind.
func TestClocks(t *testing.T) {
	t.Parallel()
	primary := redistest.Start(t, redistest.Redis)
	_, clock := redistest.StartSkewed(t, redistest.Redis, "--replicaof", "127.0.0.1", strconv.Itoa(primary.Port()))
	linked(t, primary)
	rdb := primary.Client(t)
	clocks := func(ttl time.Duration) []Finding {
		return examined(t, rdb, "clocks", func(p *patient) { p.opts.ttl = ttl })
	}
	want(t, clocks(time.Hour), OK, "as a ttl of 1h00m needs")
	clock.Shift(20 * time.Second)
	linked(t, primary)
	want(t, clocks(10*time.Second), Fault, "Lock.Deadline allows for 102ms")
	want(t, clocks(time.Hour), OK, "agrees with its primary")
	clock.Shift(-20 * time.Second)
	linked(t, primary)
	want(t, clocks(10*time.Second), Warning, "behind its primary")
}

// The clock of a server that is nobody's replica is compared with ours alone.
func TestOurClock(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartSkewed(t, redistest.Redis)
	clock.Shift(-time.Hour)
	want(t, examined(t, server.Client(t), "clocks"), Warning, "behind this machine's")
}

// The Sentinels say where the servers are, whichever of them can be asked.
func TestSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t, redistest.Redis, 2, 2)
	conn := &cli.Conn{RDB: s.Client(t), Sentinel: &redis.FailoverOptions{
		MasterName: "main", SentinelAddrs: []string{s.Sentinels()[0].Addr(), s.Sentinels()[1].Addr()},
	}}
	see := func(name string) []Finding { return examinedOn(t, conn, name) }
	want(t, see("server"), OK, "primary")
	check.Eventually(t, time.Minute, "both replicas are there", func() bool { return has(see("replicas"), OK, "2 replicas of 2") })

	s.Sentinels()[0].Kill()
	s.Servers()[2].Kill()
	check.Eventually(t, time.Minute, "the replica is away", func() bool { return has(see("replicas"), Fault, "1 replica of 2") })
	want(t, see("server"), Fault, "cannot be reached")
	s.Sentinels()[1].Kill()
	if _, err := newPatient(t.Context(), conn, defaults(), cli.NewScreen(t.Output())); err == nil {
		t.Error("nobody says where the servers are, and that is no error")
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, redistest.Redis, 3, 1)
	rdb := cluster.Client(t)
	see := func(name string) []Finding { return examined(t, rdb, name) }
	for _, name := range []string{"server", "slots", "replicas", "commands", "rights", "lifetimes"} {
		check.Eventually(t, time.Minute, name+" is well", func() bool { return has(see(name), OK, "") })
	}
	if found := see("rights"); len(found) != 1 || len(found[0].Servers) != 6 {
		t.Errorf("six nodes that are alike make one finding, not %s", list(found))
	}
	key := "moved"
	from := cluster.MasterOf(key)
	to := cluster.Nodes()[0]
	if to == from {
		to = cluster.Nodes()[1]
	}
	move := cluster.StartMove(key, to)
	want(t, see("slots"), Warning, "leaves it")
	want(t, see("slots"), Warning, "comes to it")
	move.Finish()
	want(t, see("slots"), OK, "none is on the move")

	// A primary without slots is in CLUSTER NODES alone. It is no replica of anybody.
	extra := redistest.Start(t, redistest.Redis, "--cluster-enabled", "yes")
	check.NoError(t, extra.Client(t).ClusterMeet(t.Context(), "127.0.0.1", strconv.Itoa(from.Port())).Err())
	check.Eventually(t, time.Minute, "it is known", func() bool { return has(see("replicas"), OK, "no replicas") })
	want(t, see("server"), OK, "primary")

	replica := cluster.ReplicaOf(from)
	replica.Kill()
	check.Eventually(t, time.Minute, "CLUSTER SLOTS leaves the replica out", func() bool {
		for _, node := range cluster.Nodes() {
			if node != replica && strings.Contains(fmt.Sprint(node.Client(t).Do(t.Context(), "cluster", "slots").Val()), fmt.Sprint(" ", replica.Port(), " ")) {
				return false
			}
		}
		return true
	})
	if found := see("server"); !has(found, Fault, "cannot be reached") {
		t.Fatalf("nobody misses the replica: %s", list(found))
	}
	check.Eventually(t, time.Minute, "the replica is away", func() bool { return has(see("replicas"), Fault, "0 replicas of 1") })
	from.Kill()
	check.Eventually(t, time.Minute, "its slots are not served", func() bool { return has(see("slots"), Fault, "cluster-require-full-coverage is yes") })
}
