package world_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// A watcher looks at all servers of a world, past their relays.
type watcher struct {
	*user
	servers map[string]*redis.Client // by address
}

func newWatcher(t *testing.T, w world.World) *watcher {
	t.Helper()
	o := &watcher{user: newUser(t, w), servers: map[string]*redis.Client{}}
	for addr := range w.Target().Via {
		rdb := redis.NewClient(&redis.Options{
			Addr: addr, MaxRetries: -1, DialerRetries: 1, ReadTimeout: 100 * time.Millisecond, DialTimeout: 100 * time.Millisecond,
		})
		t.Cleanup(func() { _ = rdb.Close() })
		o.servers[addr] = rdb
	}
	return o
}

// roles are what servers call themselves, by address. One that does not answer has none.
func (o *watcher) roles() map[string]string {
	roles := map[string]string{}
	for addr, rdb := range o.servers {
		if words, err := rdb.Do(context.Background(), "ROLE").Slice(); err == nil && len(words) > 0 {
			roles[addr], _ = words[0].(string)
		}
	}
	return roles
}

// in returns the addresses of those that are in a role.
func (o *watcher) in(role string) []string {
	roles := o.roles()
	return slices.Sorted(func(yield func(string) bool) {
		for _, addr := range slices.Sorted(maps.Keys(roles)) {
			if roles[addr] == role && !yield(addr) {
				return
			}
		}
	})
}

// calm returns the same when every server answers.
func (o *watcher) calm(role string) []string {
	o.t.Helper()
	var addrs []string
	eventually(o.t, "all servers answer, and one is a "+role, func() error {
		if roles := o.roles(); len(roles) != len(o.servers) {
			return fmt.Errorf("there is no answer but %v", roles)
		}
		if addrs = o.in(role); len(addrs) == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	return addrs
}

// primary returns one that has locks.
func (o *watcher) primary() string { return o.calm("master")[0] }

// promoted reports whether a server is a primary that was none at the first call.
func (o *watcher) promoted() func() bool {
	before := o.calm("master")
	return func() bool {
		return slices.ContainsFunc(o.in("master"), func(addr string) bool { return !slices.Contains(before, addr) })
	}
}

// silent reports whether a server does not answer that was in a role at the first call.
func (o *watcher) silent(role string) func() bool {
	before := o.calm(role)
	return func() bool {
		roles := o.roles()
		return slices.ContainsFunc(before, func(addr string) bool { return roles[addr] == "" })
	}
}

// A step is a fault, and how it is seen.
type step struct {
	name  string
	watch func() func() bool
}

// take makes one fault strike after the other.
func (u *user) take(steps []step) {
	u.t.Helper()
	for _, s := range steps {
		start := time.Now()
		strike(u.t, u.w, s.name, brief, s.watch())
		struck := time.Since(start)
		heal(u.t, u)
		u.t.Logf("%s: %v, healed after %v", s.name, struck.Round(time.Millisecond), time.Since(start).Round(time.Millisecond))
	}
}

func TestReplicas(t *testing.T) {
	t.Parallel()
	w := world.Start(t, world.Replicas, redistest.Redis)
	o := newWatcher(t, w)
	o.works()
	p := newProbe(t, w, o.primary())
	o.take([]step{
		{"refuse", func() func() bool { return p.fails("refused") }},
		{"replica-stop", func() func() bool { return o.silent("slave") }},
		{"replica-restart", func() func() bool { return o.silent("slave") }},
		{"failover-planned", o.promoted},
		{"failover-kill", o.promoted},
		{"failover-stop", o.promoted},
		{"replica-clock", o.promoted},
		{"restart", func() func() bool { return o.silent("master") }},
		{"restart-empty", func() func() bool { return newProbe(t, w, o.primary()).loses() }},
	})
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	w := world.Start(t, world.Sentinel, redistest.Redis)
	o := newWatcher(t, w)
	o.works()
	o.take([]step{
		{"cut", func() func() bool { return newProbe(t, w, o.primary()).fails("EOF", "reset", "closed", "broken pipe") }},
		{"failover-planned", o.promoted},
		{"failover-kill", o.promoted},
		{"failover-stop", o.promoted},
		{"replica-stop", func() func() bool { return o.silent("slave") }},
		{"replica-restart", func() func() bool { return o.silent("slave") }},
		{"restart", func() func() bool { return o.silent("master") }},
		{"restart-empty", func() func() bool { return newProbe(t, w, o.primary()).loses() }},
		{"sentinels-away", func() func() bool {
			return func() bool {
				_, err := w.Target().Dial(context.Background(), "tcp", w.Target().Addrs[0])
				return err != nil
			}
		}},
	})
	o.wantAccident(func(rdb *redis.Client) error {
		return rdb.Do(t.Context(), "SENTINEL", "FAILOVER", w.Target().Master).Err()
	})
}

// wantAccident wants the world to know of a fail-over that no fault has made. It asks servers for one until one begins it.
func (o *watcher) wantAccident(failOver func(rdb *redis.Client) error) {
	o.t.Helper()
	o.w.Accidents() // of a busy machine
	promoted, begun := o.promoted(), false
	eventually(o.t, "there is a fail-over", func() error {
		for _, rdb := range o.servers {
			begun = begun || failOver(rdb) == nil
		}
		if !promoted() {
			return errors.New("nobody has become a primary")
		}
		return nil
	})
	heal(o.t, o.user)
	if got := o.w.Accidents(); !slices.Contains(got, check.Exclusion) {
		o.t.Errorf("after a fail-over: got %q", got)
	}
	if got := o.w.Accidents(); len(got) > 0 {
		o.t.Errorf("asked once more: got %q", got)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	w := world.Start(t, world.Cluster, redistest.Redis)
	o := newWatcher(t, w)
	o.works()
	o.take([]step{
		{"failover-planned", o.promoted},
		{"failover-kill", o.promoted},
		{"failover-stop", o.promoted},
		{"masters-stop", func() func() bool { return o.silent("master") }},
		{"replica-stop", func() func() bool { return o.silent("slave") }},
		{"replica-restart", func() func() bool { return o.silent("slave") }},
		{"restart", func() func() bool { return o.silent("master") }},
		{"move-slot", o.moved},
	})
	o.wantAccident(func(rdb *redis.Client) error { return rdb.ClusterFailover(t.Context()).Err() })
}

// moved reports whether a key that was planted is at another server than at the first call.
func (o *watcher) moved() func() bool {
	ctx := context.Background()
	where := func() string {
		for _, addr := range o.in("master") {
			keys, _ := o.servers[addr].Keys(ctx, "*").Result()
			if slices.Contains(keys, "{moves}planted") {
				return addr
			}
		}
		return ""
	}
	first := ""
	eventually(o.t, "a key is planted", func() error {
		for _, rdb := range o.servers { // all but one answer that it is not their slot
			_ = rdb.HSet(ctx, "{moves}planted", "field", "value").Err()
			_ = rdb.Expire(ctx, "{moves}planted", time.Hour).Err()
		}
		if first = where(); first == "" {
			return errors.New("nobody has it")
		}
		return nil
	})
	return func() bool {
		now := where()
		return now != "" && now != first
	}
}

func TestRing(t *testing.T) {
	t.Parallel()
	w := world.Start(t, world.Ring, redistest.Redis)
	o := newWatcher(t, w)
	o.works()
	o.take([]step{
		{"blackhole", o.unanswered},
		{"shard-away", o.unanswered},
		{"shard-killed", func() func() bool { return o.silent("master") }},
		{"stop-long", func() func() bool { return o.silent("master") }},
	})
}

func TestQuorum(t *testing.T) {
	t.Parallel()
	w := world.Start(t, world.Quorum3, redistest.Redis)
	o := newWatcher(t, w)
	o.works()
	o.take([]step{
		{"blackhole", o.unanswered},
		{"stop-long", func() func() bool { return o.silent("master") }},
		{"majority-stop", o.lacksMajority},
		{"majority-restart", o.lacksMajority},
		{"clock-ahead", func() func() bool { return o.ahead }},
		{"flush", func() func() bool { return o.flushed() }},
	})
}

// unanswered reports whether a server does not answer through its relay.
func (o *watcher) unanswered() func() bool {
	var probes []*probe
	for _, addr := range o.w.Target().Addrs {
		probes = append(probes, newProbe(o.t, o.w, addr))
	}
	return func() bool {
		return slices.ContainsFunc(probes, func(p *probe) bool { return p.fails("timeout", "refused", "EOF", "reset", "closed")() })
	}
}

// lacksMajority reports whether most servers do not answer.
func (o *watcher) lacksMajority() func() bool {
	return func() bool { return len(o.in("master")) <= len(o.servers)/2 }
}

// ahead reports whether the clock of a server is.
func (o *watcher) ahead() bool {
	for _, rdb := range o.servers {
		if now, err := rdb.Time(context.Background()).Result(); err == nil && time.Until(now) > 80*time.Millisecond {
			return true
		}
	}
	return false
}

// flushed reports whether a server has lost a key.
func (o *watcher) flushed() func() bool {
	var lost []func() bool
	for _, addr := range o.w.Target().Addrs {
		lost = append(lost, newProbe(o.t, o.w, addr).loses())
	}
	return func() bool { return slices.ContainsFunc(lost, func(f func() bool) bool { return f() }) }
}
