package peers

import (
	"context"
	"errors"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// InLine is this library where an Obtain stands in line.
func InLine(server *measure.Server) Peer {
	return ours(server, NameInLine, &redislock.Options{Queue: true})
}

// ours polls if there are no options.
func ours(server *measure.Server, name string, opt *redislock.Options) Peer {
	client := redislock.New(server.Client())
	if opt == nil {
		opt = &redislock.Options{RetryStrategy: redislock.LinearBackoff(Interval)}
	}
	return Peer{
		Name: name,
		Cycle: func(ctx context.Context, key string) error {
			lock, err := client.Obtain(ctx, []string{key}, TTL, opt)
			if err != nil {
				return err
			}
			return lock.Release(ctx)
		},
		Try: func(ctx context.Context, key string) (bool, error) {
			_, err := client.Obtain(ctx, []string{key}, TTL, nil)
			return refusal(err, redislock.ErrNotObtained)
		},
		close: client.Close,
	}
}

// refusal tells what was refused from what has failed.
func refusal(err, refused error) (bool, error) {
	if errors.Is(err, refused) {
		return true, nil
	}
	return false, err
}
