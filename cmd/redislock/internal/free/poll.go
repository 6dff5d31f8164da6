package free

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// The pauses between two looks.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// A pacer says how long to wait for the next look: each time twice as long up to a second, less up to a fifth of that at
// random, so that many who wait do not ask together.
type pacer struct{ last time.Duration }

// next returns the pause. If somebody holds a key that is waited for, it ends in its ttl if it is not renewed: then is the time to
// look.
func (p *pacer) next(states []redislock.KeyState) time.Duration {
	p.last = min(max(firstPause, 2*p.last), longestPause)
	pause := p.last - rand.N(p.last/5)
	if i := slices.IndexFunc(states, isHeld); i >= 0 {
		pause = min(pause, max(states[i].TTL+time.Millisecond, firstPause/2))
	}
	return pause
}

// look returns who holds the keys; nil if all of them are free.
func (w *waiting) look(ctx context.Context) ([]redislock.KeyState, error) {
	return cli.Await(ctx, func() ([]redislock.KeyState, error) {
		if free, err := w.areFree(ctx); err != nil || free {
			return nil, err
		}
		return inspect(ctx, w.client, slices.Concat(w.parts...))
	})
}

// areFree reports whether all keys are free. Of those of each part, a slot of a Cluster, one command tells it, so they are free at
// one moment.
func (w *waiting) areFree(ctx context.Context) (bool, error) {
	pipe := w.conn.RDB.Pipeline()
	for _, part := range w.parts {
		names := make([]string, len(part))
		for i, key := range part {
			names[i] = w.client.RedisKey(key)
		}
		pipe.Exists(ctx, names...)
	}
	answers, err := pipe.Exec(ctx)
	isThere := func(cmd redis.Cmder) bool { return cmd.(*redis.IntCmd).Val() > 0 }
	return err == nil && !slices.ContainsFunc(answers, isThere), err
}
