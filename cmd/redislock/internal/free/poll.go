package free

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// The pauses between two looks.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// A pacer says how long to wait for the next look: each time twice as long up to a second, less up to a fifth of that at
// random, so that many who wait do not ask together.
type pacer struct{ last time.Duration }

// next returns the pause. The key that is waited for ends in ttl if it is not renewed: then is the time to look.
func (p *pacer) next(ttl time.Duration) time.Duration {
	p.last = min(max(firstPause, 2*p.last), longestPause)
	pause := p.last - rand.N(p.last/5)
	if ttl >= 0 && ttl+time.Millisecond < pause {
		pause = max(ttl+time.Millisecond, firstPause/2)
	}
	return pause
}

// noTTL says that nothing is known of when a key ends.
const noTTL = -1

// A sight is what one look at the keys has found.
type sight struct {
	free    bool
	states  []redislock.KeyState // of all keys, as they were when all of them were last looked at
	blocker string               // one that was held then; empty: none
	ttl     time.Duration        // when the lease of that one ends, or noTTL
}

// look looks at the keys. As long as that one is held which was held at the last sight, nothing else is asked.
func (w *waiting) look(ctx context.Context, last sight) (sight, error) {
	if last.blocker != "" {
		states, err := inspect(ctx, w.client, []string{last.blocker})
		last.ttl = noTTL
		if err != nil {
			return last, err
		}
		if isHeld(states[0]) {
			last.ttl = states[0].TTL
			return last, nil
		}
	}
	free, err := w.areFree(ctx)
	if err != nil || free {
		return sight{free: free, states: last.states, ttl: noTTL}, err
	}
	states, err := inspect(ctx, w.client, slices.Concat(w.parts...))
	if err != nil {
		return sight{states: last.states, ttl: noTTL}, err
	}
	now := sight{states: states, ttl: noTTL}
	if i := slices.IndexFunc(states, isHeld); i >= 0 {
		now.blocker = states[i].Key
	}
	return now, nil
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
