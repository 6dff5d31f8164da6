package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
)

// An ObtainFunc is Obtain or ObtainRead of some Client.
type ObtainFunc = func(context.Context, []string, time.Duration, *redislock.Options) (*redislock.Lock, error)

// Cycle runs every script once, on keys with the prefix.
func Cycle(ctx context.Context, client *redislock.Client, prefix string) error {
	lock, err := client.Obtain(ctx, []string{prefix + "{t}a", prefix + "{t}b"}, Long, nil)
	if err != nil {
		return err
	}
	_, ttlErr := lock.TTL(ctx)
	err = errors.Join(ttlErr, lock.Refresh(ctx, Long), lock.Downgrade(ctx))
	states, inspectErr := client.Inspect(ctx, prefix+"{t}a", prefix+"{t}b")
	if inspectErr == nil && (states[0].Mode != redislock.ModeRead || states[1].Mode != redislock.ModeRead) {
		inspectErr = fmt.Errorf("inspect: got %+v, want two keys that are read", states)
	}
	err = errors.Join(err, inspectErr, lock.Upgrade(ctx), lock.Release(ctx))
	mixed, mixedErr := client.ObtainMixed(ctx, []string{prefix + "{t}a"}, []string{prefix + "{t}b"}, Long, nil)
	if mixedErr != nil {
		return errors.Join(err, mixedErr)
	}
	return errors.Join(err, mixed.Release(ctx))
}
