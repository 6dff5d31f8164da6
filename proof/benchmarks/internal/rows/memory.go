package rows

import (
	"context"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// memory asks the server what the keys take, for each lock, reader, waiter and fencing number.
func memory(ctx context.Context, s *stage) (*report, error) {
	const many = 1000
	servers, err := s.start(1)
	if err != nil {
		return nil, err
	}
	client := redislock.New(servers[0].Client())
	s.finally(client.Close)
	r := &report{}
	const key, shared = "lock:memory", "lock:shared"
	if _, err := client.Obtain(ctx, []string{key}, ttl, &redislock.Options{Fenced: true}); err != nil {
		return nil, err
	}
	crowd := gather(ctx, many, whole(redislock.Options{Queue: true})(client, []string{key}))
	s.finally(crowd.part)
	if err := allWait(ctx, client, []string{key}, many); err != nil {
		return nil, err
	}
	for range many {
		if _, err := client.ObtainRead(ctx, []string{shared}, ttl, nil); err != nil {
			return nil, err
		}
	}
	for _, of := range []struct {
		name, key string
		share     float64
	}{
		{"a lock", key, 1},
		{"a reader", shared, many},
		{"a waiter, for each key", slot.Beside("line", key), many},
		{"a fencing number", slot.Beside("fence", key), 1},
	} {
		bytes, err := servers[0].Admin().MemoryUsage(ctx, of.key, 0).Result()
		if err != nil {
			return nil, err
		}
		r.figure(of.name, 0, "memory", measure.Bytes, measure.Exactly(float64(bytes)/of.share))
	}
	return r, nil
}
