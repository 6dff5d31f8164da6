package peers

import (
	"context"

	"github.com/bsm/redislock"

	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

func bsm(server *measure.Server) Peer {
	client := redislock.New(server.Client())
	return Peer{
		Name: NameBSM,
		Cycle: func(ctx context.Context, key string) error {
			lock, err := client.Obtain(ctx, key, TTL, &redislock.Options{RetryStrategy: redislock.LinearBackoff(Interval)})
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		},
		Try: func(ctx context.Context, key string) (bool, error) {
			_, err := client.Obtain(ctx, key, TTL, nil)
			return refusal(err, redislock.ErrNotObtained)
		},
	}
}
