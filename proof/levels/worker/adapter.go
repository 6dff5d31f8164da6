package main

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// This file has all that a worker uses of the library, so that a name can change here: then versions that have another one get a
// file of their own, under a build tag.

// A lock is one that is held.
type lock = redislock.Lock

// locks obtains them.
type locks struct{ client *redislock.Client }

func newLocks(rdb *redis.Client) locks { return locks{redislock.New(rdb)} }

// newWatched makes locks of which each renewal is told, with its error if it was none.
func newWatched(rdb *redis.Client, renewed func(error)) locks {
	return locks{redislock.New(rdb, redislock.WithHooks(redislock.Hooks{
		Refreshed: func(_ context.Context, e redislock.Event) { renewed(e.Err) },
	}))}
}

func (l locks) close() { l.client.Close() }

// obtain takes the keys in a way.
func (l locks) obtain(ctx context.Context, keys []string, ttl time.Duration, w way) (*lock, error) {
	opt := &redislock.Options{Queue: w.queue, Fenced: w.fenced, Watchdog: w.watched, Metadata: w.metadata}
	if w.reads {
		return l.client.ObtainRead(ctx, keys, ttl, opt)
	}
	return l.client.Obtain(ctx, keys, ttl, opt)
}

// with takes the keys for a function.
func (l locks) with(ctx context.Context, keys []string, ttl time.Duration, fn func(context.Context) error) error {
	return l.client.With(ctx, keys, ttl, nil, fn)
}

// isRefusal reports whether somebody else holds a key.
func isRefusal(err error) bool { return errors.Is(err, redislock.ErrNotObtained) }
