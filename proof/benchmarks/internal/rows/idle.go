package rows

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// idleFor is three times what a waiter waits before it asks again by itself.
const idleFor = 15 * time.Second

// What waits while nothing moves, and how much of it.
const (
	IdleSide    = "all waiters"
	IdleWaiters = idleLines * idleEach
	idleLines   = 500
	idleEach    = 4
)

// idle is a Client with many waiters while nothing moves.
func idle(ctx context.Context, s *stage) (*report, error) {
	servers, err := s.start(1)
	if err != nil {
		return nil, err
	}
	client := redislock.New(servers[0].Client())
	s.finally(client.Close)
	keys := keysOf("idle", idleLines)
	for _, key := range keys {
		if _, err := client.Obtain(ctx, []string{key}, ttl, nil); err != nil {
			return nil, err
		}
	}
	crowd := gather(ctx, IdleWaiters, func(ctx context.Context, who int) (*redislock.Lock, error) {
		return client.Obtain(ctx, keys[who%idleLines:][:1], ttl, &redislock.Options{Queue: true})
	})
	s.finally(crowd.part)
	if err := allWait(ctx, client, keys, idleEach); err != nil {
		return nil, err
	}
	plan := measure.Plan{Blocks: 1, Length: idleFor}
	results, err := s.interleave(ctx, plan, []measure.Side{{
		Name: IdleSide, Servers: servers,
		Block: func(ctx context.Context, length time.Duration) (int, error) {
			select {
			case <-time.After(length):
				return 1, nil
			case err := <-crowd.failed:
				return 0, err
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		},
	}})
	if err != nil {
		return nil, err
	}
	r := &report{}
	r.add(results, measure.CallsPerSecond, measure.ServerShare, measure.ClientShare)
	r.atMost(10, subject{"calls of scripts a second", 0, measure.PerSec, measure.OnCounts},
		results[0].Spread(measure.CallsPerSecond))
	return r, nil
}
