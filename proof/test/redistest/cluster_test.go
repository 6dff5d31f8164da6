package redistest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

func TestCluster(t *testing.T) {
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		ctx := t.Context()
		begin := time.Now()
		cl := redistest.StartCluster(t, kind, 3, 1)
		t.Logf("ready in %v", time.Since(begin))
		c := cl.Client(t, func(opt *redis.ClusterOptions) { opt.ReadTimeout, opt.MaxRedirects = 20*time.Second, -1 })
		owners := map[*redistest.Server]string{}
		for i := range 50 { // the first command that fails was not ready
			key := fmt.Sprint("k", i)
			if err := c.Set(ctx, key, "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			owners[cl.MasterOf(key)] = key
		}
		if got := len(owners); got != 3 {
			t.Fatalf("50 keys on %d masters, want 3", got)
		}
		for _, master := range cl.Masters() {
			if owners[master] == "" {
				t.Errorf("port %d has none of 50 keys, and is called a master", master.Port())
			}
		}
		if got := len(cl.Masters()); got != 3 {
			t.Errorf("%d masters, want 3", got)
		}
		for master, key := range owners {
			replica := cl.ReplicaOf(master)
			if replica == master {
				t.Errorf("port %d is its own replica", master.Port())
			}
			if got, err := master.Client(t).Get(ctx, key).Result(); got != "v" || err != nil {
				t.Errorf("on the master of %s: %q, %v", key, got, err)
			}
		}
		// By default go-redis asks a silent master for a minute before it looks for
		// another.
		failOver(t, cl, cl.Client(t, func(opt *redis.ClusterOptions) {
			opt.ReadTimeout, opt.ClusterStateReloadInterval = 300*time.Millisecond, 200*time.Millisecond
		}))
	})
}

// failOver pauses a master until its replica is in its place, then lets it come
// back as a replica.
func failOver(t *testing.T, cl *redistest.Cluster, c *redis.ClusterClient) {
	t.Helper()
	ctx := t.Context()
	const key = "k1"
	old := cl.MasterOf(key)
	next := cl.ReplicaOf(old)
	old.Pause()
	begin := time.Now()
	check.Eventually(t, 20*time.Second, "fail-over", func() bool { return cl.MasterOf(key) == next })
	t.Logf("failed over in %v", time.Since(begin))
	check.Eventually(t, 20*time.Second, "the key can be read", func() bool { return c.Get(ctx, key).Val() == "v" })
	old.Resume()
	check.Eventually(t, 20*time.Second, "the old master becomes a replica", func() bool {
		role, err := old.Client(t).Do(ctx, "ROLE").Slice()
		return err == nil && role[0] == "slave"
	})
	check.Eventually(t, 20*time.Second, "the cluster is settled", func() bool { return cl.Settled() == nil })
	if masters := cl.Masters(); len(masters) != 3 || slices.Contains(masters, old) || !slices.Contains(masters, next) {
		t.Errorf("%d masters after the fail-over, and not those it should have", len(masters))
	}
	if got := cl.ReplicaOf(next); got != old {
		t.Errorf("replica of the new master: port %d, want %d", got.Port(), old.Port())
	}
}

func TestSentinels(t *testing.T) {
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		ctx := t.Context()
		begin := time.Now()
		s := redistest.StartSentinels(t, kind, 2, 3, "--min-replicas-max-lag", "7")
		t.Logf("ready in %v", time.Since(begin))
		if got, want := len(s.Servers()), 3; got != want {
			t.Errorf("%d servers, want %d", got, want)
		}
		if got, want := len(s.Sentinels()), 3; got != want {
			t.Errorf("%d sentinels, want %d", got, want)
		}
		for _, srv := range s.Servers() {
			if got := srv.Client(t).ConfigGet(ctx, "min-replicas-max-lag").Val()["min-replicas-max-lag"]; got != "7" {
				t.Errorf("port %d: extra argument is %q, want 7", srv.Port(), got)
			}
		}
		c := s.Client(t)
		if err := c.Set(ctx, "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		if got := c.Wait(ctx, 2, 10*time.Second).Val(); got != 2 {
			t.Fatalf("%d replicas have the key, want 2", got)
		}
		old := s.Primary()
		if old != s.Servers()[0] {
			t.Errorf("primary is port %d, want %d", old.Port(), s.Servers()[0].Port())
		}
		begin = time.Now()
		old.Kill()
		check.Eventually(t, 20*time.Second, "fail-over", func() bool { return s.Primary() != old })
		t.Logf("failed over in %v", time.Since(begin))
		check.Eventually(t, 20*time.Second, "the client writes to the new primary", func() bool { return c.Set(ctx, "k2", "v", 0).Err() == nil })
		if got := s.Primary().Client(t).Get(ctx, "k").Val(); got != "v" {
			t.Errorf("on the new primary: %q, want v", got)
		}
	})
}
