package rows

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/benchmarks/internal/measure"
)

// idleFor is three times what a waiter waits before it asks again by itself.
const idleFor = 15 * time.Second

// idle is a Client with many waiters while nothing moves.
func idle(ctx context.Context, s *stage) (*report, error) {
	const lines, each = 500, 4
	servers, err := s.start(1)
	if err != nil {
		return nil, err
	}
	client := redislock.New(servers[0].Client())
	s.finally(client.Close)
	keys := keysOf("idle", lines)
	for _, key := range keys {
		if _, err := client.Obtain(ctx, []string{key}, ttl, nil); err != nil {
			return nil, err
		}
	}
	crowd := gather(ctx, lines*each, func(ctx context.Context, who int) (*redislock.Lock, error) {
		return client.Obtain(ctx, keys[who%lines:][:1], ttl, &redislock.Options{Queue: true})
	})
	s.finally(crowd.part)
	if err := allWait(ctx, client, keys, each); err != nil {
		return nil, err
	}
	plan := measure.Plan{Blocks: 1, Length: idleFor}
	results, err := measure.Interleave(ctx, plan, []measure.Side{{
		Name: fmt.Sprint(lines*each, " waiters"), Servers: servers,
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
	r.atMost(10, measure.Count, measure.OnCounts, results[0].Spread(measure.CallsPerSecond), "calls of scripts a second")
	return r, nil
}
