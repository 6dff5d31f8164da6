package peers

import (
	"context"
	"errors"
	"math"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"

	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// RedsyncAt is redsync at a majority of servers.
func RedsyncAt(servers []*measure.Server) Peer { return redsyncOf(NameRedsync, servers...) }

func redsyncOf(name string, servers ...*measure.Server) Peer {
	var pools []redis.Pool
	for _, server := range servers {
		pools = append(pools, goredis.NewPool(server.Client()))
	}
	sync := redsync.New(pools...)
	return Peer{
		Name: name,
		Cycle: func(ctx context.Context, key string) error {
			mutex := sync.NewMutex(key, redsync.WithExpiry(TTL), redsync.WithTries(math.MaxInt), redsync.WithRetryDelay(Interval))
			if err := mutex.LockContext(ctx); err != nil {
				return err
			}
			_, err := mutex.UnlockContext(ctx)
			return err
		},
		Try: func(ctx context.Context, key string) (bool, error) {
			err := sync.NewMutex(key, redsync.WithExpiry(TTL)).TryLockContext(ctx)
			var taken *redsync.ErrTaken
			if errors.As(err, &taken) || errors.Is(err, redsync.ErrFailed) {
				return true, nil
			}
			return false, err
		},
	}
}
