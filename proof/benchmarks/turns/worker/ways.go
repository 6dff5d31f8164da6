package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/benchmarks/turns/task"
)

// ttl is how long a lock lives: longer than anything that is measured.
const ttl = time.Minute

// small is the size of the buffers of a connection that is to weigh little.
const small = 4 << 10

// stall is after what time a caller of rueidislock begins anew. Some of 64 callers have been seen to wait for half a minute and
// more while nobody else came.
const stall = time.Second

// taking returns how a key is taken in the way of an order, and what is to be closed in the end.
func taking(order task.Order) (take, func(), error) {
	switch order.Way {
	case task.Rueidis:
		return byRueidis(order.Addr)
	case task.Mutex:
		var mu sync.Mutex
		return func(context.Context, string) (free, error) {
			mu.Lock()
			return func(context.Context) error { mu.Unlock(); return nil }, nil
		}, func() {}, nil
	}
	opt := &redis.Options{Addr: order.Addr}
	if order.Light {
		opt.PoolSize, opt.ReadBufferSize, opt.WriteBufferSize = 1, small, small
		opt.PipelineReadBufferSize, opt.PipelineWriteBufferSize = small, small
	}
	rdb := redis.NewClient(opt)
	closed := func() { _ = rdb.Close() } // it has nothing to tell any more
	switch order.Way {
	case task.BSM:
		return byBSM(rdb, order.Interval), closed, nil
	case task.Least:
		return (&leastLine{rdb: rdb}).take, closed, nil
	case task.InLine:
		return ours(rdb, closed, &redislock.Options{Queue: true})
	case task.Passing:
		return ours(rdb, closed, passing())
	case task.Polling:
		return ours(rdb, closed, &redislock.Options{RetryStrategy: redislock.LinearBackoff(order.Interval)})
	case task.Once:
		return ours(rdb, closed, nil)
	default:
		closed()
		return nil, nil, fmt.Errorf("unknown way %q", order.Way)
	}
}

// ours takes a key by this library.
func ours(rdb *redis.Client, closed func(), opt *redislock.Options) (take, func(), error) {
	client := redislock.New(rdb)
	return func(ctx context.Context, key string) (free, error) {
			lock, err := client.Obtain(ctx, []string{key}, ttl, opt)
			if err != nil {
				return nil, err
			}
			return lock.Release, nil
		}, func() {
			client.Close()
			closed()
		}, nil
}

func byBSM(rdb *redis.Client, interval time.Duration) take {
	client := bsm.New(rdb)
	return func(ctx context.Context, key string) (free, error) {
		lock, err := client.Obtain(ctx, key, ttl, &bsm.Options{RetryStrategy: bsm.LinearBackoff(interval)})
		if err != nil {
			return nil, err
		}
		return lock.Release, nil
	}
}

// byRueidis waits until the server tells it that the key has changed. By default it gives up a request after 20 ms, which on a
// busy machine is soon.
func byRueidis(addr string) (take, func(), error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{addr}},
		KeyMajority:    1,
		TryNextAfter:   time.Second,
		NoLoopTracking: true,
	})
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, key string) (free, error) {
		for {
			tried, cancel := context.WithTimeout(ctx, stall)
			_, release, err := locker.WithContext(tried, key)
			switch {
			case err == nil:
				return func(context.Context) error {
					release()
					cancel()
					return nil
				}, nil
			case ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded):
				cancel()
				return nil, err
			}
			cancel()
		}
	}, locker.Close, nil
}
