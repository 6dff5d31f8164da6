package peers

import (
	"context"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/seed-14de3678/redislock/benchmarks/internal/measure"
)

// rueidisOf waits until the server tells it that the key has changed.
func rueidisOf(server *measure.Server) (Peer, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{server.Addr()}},
		KeyMajority:    1,
		KeyValidity:    TTL,
		NoLoopTracking: true,
	})
	if err != nil {
		return Peer{}, err
	}
	return Peer{
		Name: NameRueidis,
		Cycle: func(ctx context.Context, key string) error {
			_, release, err := locker.WithContext(ctx, key)
			if err != nil {
				return err
			}
			release()
			return nil
		},
		close: locker.Close,
	}, nil
}
