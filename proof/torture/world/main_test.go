package world_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/world"
	"github.com/seed-14de3678/redislock/quorum"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// patience is for what happens within moments, unless the machine is busy.
const patience = 60 * time.Second

// A user is what a process of a campaign has: Redis clients that go through the relays, and a Client of each.
type user struct {
	t       *testing.T
	w       world.World
	redis   []redis.UniversalClient
	clients []*redislock.Client
	quorum  *quorum.Client // nil: there is one client
}

// newUser connects as the user of the target.
func newUser(t *testing.T, w world.World) *user {
	t.Helper()
	u := &user{t: t, w: w}
	target := w.Target()
	plain := func(addr string) *redis.Options {
		return &redis.Options{
			Addr: addr, Dialer: target.Dial, Username: target.Username, Password: target.Password,
			ReadTimeout: time.Second, DialTimeout: time.Second,
		}
	}
	switch target.Topology {
	case world.Sentinel:
		u.redis = append(u.redis, redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: target.Master, SentinelAddrs: target.Addrs, Dialer: target.Dial,
			Username: target.Username, Password: target.Password, ReadTimeout: time.Second, DialTimeout: time.Second,
		}))
	case world.Cluster:
		u.redis = append(u.redis, redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: target.Addrs, Dialer: target.Dial, Username: target.Username, Password: target.Password,
			ReadTimeout: time.Second, DialTimeout: time.Second,
		}))
	case world.Ring:
		shards := map[string]string{}
		for i, addr := range target.Addrs {
			shards[fmt.Sprint("shard", i)] = addr
		}
		u.redis = append(u.redis, redis.NewRing(&redis.RingOptions{
			Addrs: shards, Dialer: target.Dial, Username: target.Username, Password: target.Password,
			ReadTimeout: time.Second, DialTimeout: time.Second,
		}))
	default:
		for _, addr := range target.Addrs {
			u.redis = append(u.redis, redis.NewClient(plain(addr)))
		}
	}
	for _, rdb := range u.redis {
		options := []redislock.ClientOption{redislock.WithReplicas(target.Replicas), redislock.WithMinUptime(target.MinUptime)}
		u.clients = append(u.clients, redislock.New(rdb, options...))
	}
	if len(u.clients) > 1 {
		var err error
		if u.quorum, err = quorum.New(u.clients); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(u.close)
	return u
}

func (u *user) close() {
	if u.quorum != nil {
		u.quorum.Close()
	}
	for i, rdb := range u.redis {
		u.clients[i].Close()
		_ = rdb.Close()
	}
}

// obtain takes a lock the way a process does it.
func (u *user) obtain(ctx context.Context, key string, ttl time.Duration) (held.Lock, error) {
	if u.quorum != nil {
		return u.quorum.Obtain(ctx, []string{key}, ttl, nil)
	}
	return u.clients[0].Obtain(ctx, []string{key}, ttl, nil)
}

// cycle obtains a lock and releases it.
func (u *user) cycle() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	lock, err := u.obtain(ctx, "{"+u.t.Name()+"}cycle", time.Second)
	if err != nil {
		return err
	}
	return lock.Release(ctx)
}

// works waits until a lock is obtained and released.
func (u *user) works() {
	u.t.Helper()
	eventually(u.t, "a lock is obtained and released", u.cycle)
}

// eventually calls ok until it returns nil.
func eventually(t *testing.T, what string, ok func() error) {
	t.Helper()
	if err := redistest.Until(patience, ok); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// strike makes a nemesis strike, and calls watch until that is over or watch has seen what it wants. It fails the test if
// watch has seen nothing.
func strike(t *testing.T, w world.World, name string, d time.Duration, watch func() bool) {
	t.Helper()
	n := nemesis(t, w, name)
	over := make(chan error, 1)
	for round := range uint64(20) { // what was chosen may be nothing that watch looks at
		go func() { over <- n.Strike(rand.New(rand.NewPCG(round, 1)), d) }()
		seen := false
		for ended := false; !ended; {
			seen = seen || watch()
			select {
			case err := <-over:
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				ended = true
			default:
			}
		}
		if seen || watch() {
			return
		}
	}
	t.Errorf("%s: nothing was seen of it", name)
}

func nemesis(t *testing.T, w world.World, name string) world.Nemesis {
	t.Helper()
	for _, n := range w.Nemeses() {
		if n.Name == name {
			return n
		}
	}
	t.Fatalf("there is no nemesis %q", name)
	return world.Nemesis{}
}

// heal heals, and wants everything to be well.
func heal(t *testing.T, u *user) {
	t.Helper()
	if err := u.w.Heal(); err != nil {
		t.Fatal(err)
	}
	u.works()
	eventually(t, "nothing is left", func() error {
		left, err := u.w.Left()
		if err != nil || len(left) == 0 {
			return err
		}
		return errors.New(strings.Join(left, "; "))
	})
}
