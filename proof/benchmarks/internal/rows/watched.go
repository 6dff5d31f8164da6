package rows

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// WatchedSide are the locks that a Client renews.
const WatchedSide = "5000 locks"

// watched renews many locks.
func watched(ctx context.Context, s *stage) (*report, error) {
	const locks, lease = 5000, 6 * time.Second // so each is renewed every 2 s
	servers, err := s.start(1)
	if err != nil {
		return nil, err
	}
	var renewed atomic.Int64
	client := redislock.New(servers[0].Client(), redislock.WithHooks(redislock.Hooks{
		Refreshed: func(context.Context, redislock.Event) { renewed.Add(1) },
	}))
	s.finally(client.Close)
	for _, key := range keysOf("watched", locks) {
		if _, err := client.Obtain(ctx, []string{key}, lease, &redislock.Options{Watchdog: true}); err != nil {
			return nil, err
		}
	}
	plan := measure.Plan{Blocks: 3, Length: lease / 3}
	results, err := s.interleave(ctx, plan, []measure.Side{{
		Name: WatchedSide, Servers: servers,
		Block: func(_ context.Context, length time.Duration) (int, error) {
			before := renewed.Load()
			time.Sleep(length)
			return int(renewed.Load() - before), nil
		},
	}})
	if err != nil {
		return nil, err
	}
	r := &report{}
	r.add(results, measure.ServerCPU, measure.ClientCPU, measure.Commands, measure.Network)
	return r, nil
}
