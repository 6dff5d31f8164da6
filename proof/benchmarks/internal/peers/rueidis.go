package peers

import (
	"context"
	"errors"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// stall is after what time a caller of rueidislock begins anew. Some of 64 callers have been seen to
// wait for half a minute and more while nobody else came.
const stall = time.Second

// rueidisOf waits until the server tells it that the key has changed. It renews its locks by itself, so
// they live as long as they do by default. By default it also gives up a request after 20 ms, which
// on a busy machine is soon.
func rueidisOf(server *measure.Server) (Peer, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{server.Addr()}},
		KeyMajority:    1,
		TryNextAfter:   time.Second,
		NoLoopTracking: true,
	})
	if err != nil {
		return Peer{}, err
	}
	return Peer{
		Name: NameRueidis,
		Cycle: func(ctx context.Context, key string) error {
			for {
				tried, cancel := context.WithTimeout(ctx, stall)
				_, release, err := locker.WithContext(tried, key)
				if err == nil {
					release()
				}
				cancel()
				if !errors.Is(err, context.DeadlineExceeded) {
					return err
				}
			}
		},
		close: locker.Close,
	}, nil
}
