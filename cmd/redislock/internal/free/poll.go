package free

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

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
		blocked, ttl, err := w.lookAtBlocker(ctx, last.blocker)
		if last.ttl = ttl; err != nil || blocked {
			return last, err
		}
	}
	free, err := w.lookAtAll(ctx)
	if err != nil || free && !w.read {
		return sight{free: free, states: last.states, ttl: noTTL}, err
	}
	states, err := inspect(ctx, w.client, slices.Concat(w.parts...))
	if err != nil {
		return sight{states: last.states, ttl: noTTL}, err
	}
	now := sight{free: free, states: states, ttl: noTTL} // free for readers: whatever is there, it is no lock of a writer
	if i := slices.IndexFunc(states, func(s redislock.KeyState) bool { return blocks(s, w.read) }); i >= 0 {
		now.blocker = states[i].Key
	}
	return now, nil
}

// lookAtBlocker asks whether a key is held still, and for how long.
func (w *waiting) lookAtBlocker(ctx context.Context, key string) (blocked bool, ttl time.Duration, err error) {
	pipe := w.conn.RDB.Pipeline()
	key = w.client.RedisKey(key)
	kind, left := pipe.Type(ctx, key), pipe.PTTL(ctx, key)
	if _, err := pipe.Exec(ctx); err != nil {
		return false, noTTL, err
	}
	// What has no TTL, or another type, is no lock: then it is to be found out what it is.
	blocked = left.Val() >= 0 && (kind.Val() == "string" || kind.Val() == "zset" && !w.read)
	return blocked, max(left.Val(), noTTL), nil
}

// lookAtAll reports whether all keys are free. Of those of each part, a slot of a Cluster, one command tells it, so they
// are free at one moment. For readers it tells that none is a string, as the lock of a writer is.
func (w *waiting) lookAtAll(ctx context.Context) (free bool, err error) {
	pipe := w.conn.RDB.Pipeline()
	var taken []func() bool // of each part, when the answers are there
	for _, part := range w.parts {
		names := make([]string, len(part))
		for i, key := range part {
			names[i] = w.client.RedisKey(key)
		}
		if w.read {
			values := pipe.MGet(ctx, names...)
			taken = append(taken, func() bool { return slices.ContainsFunc(values.Val(), func(v any) bool { return v != nil }) })
		} else {
			there := pipe.Exists(ctx, names...)
			taken = append(taken, func() bool { return there.Val() > 0 })
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return false, err
	}
	return !slices.ContainsFunc(taken, func(isTaken func() bool) bool { return isTaken() }), nil
}
