package soak_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// A trouble is what happens to the server and to the connections to it.
type trouble struct {
	server *redistest.Server
	relay  *redistest.Relay
	rdb    *redis.Client // past the relay
}

// faults are what can happen, each for about d.
var faults = []struct {
	name string
	do   func(ctx context.Context, x *trouble, d time.Duration)
}{
	{"connections cut", func(_ context.Context, x *trouble, _ time.Duration) { x.relay.Cut() }},
	{"one reply cut off", func(_ context.Context, x *trouble, _ time.Duration) { x.relay.CutReplies() }},
	{"blackhole", func(ctx context.Context, x *trouble, d time.Duration) {
		x.relay.Blackhole(true)
		pace.Sleep(ctx, d)
		x.relay.Blackhole(false)
		x.relay.Cut()
	}},
	{"slow replies", func(ctx context.Context, x *trouble, d time.Duration) {
		x.relay.DelayReplies(200 * time.Millisecond)
		pace.Sleep(ctx, d)
		x.relay.DelayReplies(0)
	}},
	{"replies lost", func(ctx context.Context, x *trouble, d time.Duration) {
		x.relay.DropReplies(true)
		pace.Sleep(ctx, d)
		x.relay.DropReplies(false)
		x.relay.Cut()
	}},
	{"server stopped", func(ctx context.Context, x *trouble, d time.Duration) {
		x.server.Pause()
		pace.Sleep(ctx, d)
		x.server.Resume()
	}},
	{"scripts forgotten", func(ctx context.Context, x *trouble, _ time.Duration) { x.rdb.ScriptFlush(ctx) }},
	{"clients killed", func(ctx context.Context, x *trouble, _ time.Duration) {
		x.rdb.ClientKillByFilter(ctx, "TYPE", "normal", "SKIPME", "yes")
		x.rdb.ClientKillByFilter(ctx, "TYPE", "pubsub")
	}},
	{"restart without data", func(_ context.Context, x *trouble, _ time.Duration) { x.server.Restart() }},
}

// spoil makes one fault after the other until ctx ends, and counts them by name.
func (x *trouble) spoil(ctx context.Context, every time.Duration) map[string]int {
	rng := rand.New(rand.NewPCG(1, 2))
	done := map[string]int{}
	for {
		pace.Sleep(ctx, every)
		if ctx.Err() != nil {
			return done
		}
		f := faults[rng.IntN(len(faults))]
		f.do(ctx, x, time.Duration(200+rng.IntN(1800))*time.Millisecond)
		done[f.name]++
	}
}

// newTrouble starts a server with a relay in front of it.
func newTrouble(t *testing.T) *trouble {
	t.Helper()
	server := redistest.Start(t, redistest.Redis)
	return &trouble{server: server, relay: redistest.NewRelay(t, server.Addr()), rdb: server.Client(t)}
}
