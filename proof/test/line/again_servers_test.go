package line_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Four waiters in each of 500 lines cost a server at most ten commands a second while nothing moves.
func TestQueueAgainCommands(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, redistest.Redis)
	c := newCrowd(t, world.New(t, s), s.Client(t), 500, 4)
	defer c.goHome(t)
	rdb := s.Client(t)
	time.Sleep(time.Second) // the last of them have subscribed
	before, at := world.Calls(t, rdb).Scripts(), time.Now()
	time.Sleep(9 * time.Second)
	n, took := world.Calls(t, rdb).Scripts()-before, time.Since(at)
	if rate := float64(n) / took.Seconds(); n == 0 || rate > 10 {
		t.Errorf("got %d commands in %v, want some, and 10 a second at most", n, took)
	}
	for who, left := range c.aliveFor(t) {
		if left < 0 {
			t.Errorf("%s counts as dead", who)
		}
	}
}

// On every kind of server a Client asks for its waiters together, and finds what they have lost.
func TestQueueAgainOnServers(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) (redis.UniversalClient, *redislock.Client){
		"Valkey": func(t *testing.T) (redis.UniversalClient, *redislock.Client) {
			t.Helper()
			rdb := redistest.Start(t, redistest.Valkey).Client(t)
			return rdb, world.NewClient(t, rdb)
		},
		"Cluster": func(t *testing.T) (redis.UniversalClient, *redislock.Client) {
			t.Helper()
			rdb := world.NewShards(t, 0).Client(t)
			return rdb, world.NewClient(t, rdb)
		},
		"wrapped": func(t *testing.T) (redis.UniversalClient, *redislock.Client) {
			t.Helper()
			rdb := world.NewShards(t, 0).Client(t)
			return rdb, wrapped{rdb}.client(t)
		},
		"Ring": func(t *testing.T) (redis.UniversalClient, *redislock.Client) {
			t.Helper()
			ring, _ := world.NewRing(t)
			return ring, world.NewClient(t, ring)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, client := start(t)
			w := &world.World{Client: client, Prefix: world.NewName(t)}
			var together atomic.Int64
			rdb.AddHook(check.Around{After: func(cmd redis.Cmder) {
				if run := check.RunIn(cmd); run.Of("again") && cmd.Err() == nil {
					together.Add(1)
				}
			}})
			c := newCrowd(t, w, rdb, 20, 3)
			ctx, cancel := context.WithCancel(t.Context())
			defer func() { cancel(); c.goHome(t) }()
			one(ctx, t, c)
			time.Sleep(askedFor)
			key, before := c.Key("k"), c.who(t, c.Key("k"))
			check.NoError(t, rdb.ZRem(t.Context(), "redislock:line:{"+key+"}", c.line(t, key)[1]).Err())
			check.Eventually(t, world.Polled, "the entry is back", func() bool { return slices.Equal(c.who(t, key), before) })
			check.NoError(t, rdb.Del(t.Context(), key).Err())
			for _, lock := range world.WantTurnWithin(t, c.turns, world.Polled, "x") {
				c.waiters--
				check.NoError(t, lock.Release(t.Context()))
			}
			if together.Load() == 0 {
				t.Error("nobody asked for all of them together")
			}
		})
	}
}
