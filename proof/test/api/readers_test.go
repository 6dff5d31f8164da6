package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A reader is not alone as long as any other reads, whichever of their leases ends first.
func TestReaderIsNotAlone(t *testing.T) {
	for name, write := range map[string]func(context.Context, *world.World, *redislock.Lock, []string) error{
		"upgrade": func(ctx context.Context, _ *world.World, lock *redislock.Lock, _ []string) error {
			return lock.Upgrade(ctx)
		},
		"obtain under the same token": func(ctx context.Context, w *world.World, lock *redislock.Lock, keys []string) error {
			_, err := w.Client.As(lock.Token()).Obtain(ctx, keys, world.Long, nil)
			return err
		},
	} {
		for others, ttls := range map[string][]time.Duration{
			"a lease that ends sooner":           {world.Long / 2},
			"a lease that ends later":            {2 * world.Long},
			"two leases that end sooner":         {world.Long / 2, world.Long / 3},
			"one that ends sooner and one later": {world.Long / 2, 2 * world.Long},
		} {
			t.Run(name+" beside "+others, func(t *testing.T) {
				world.Scenario(t, func(t *testing.T, w *world.World) {
					keys := w.Keys("k")
					lock := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), keys, world.Long, nil))
					for _, ttl := range ttls {
						other := check.Must[*redislock.Lock](t)(w.Client.ObtainRead(t.Context(), keys, ttl, nil))
						world.WantConflict(t, write(t.Context(), w, lock, keys), keys[0], redislock.ModeRead)
						defer func() { check.NoError(t, other.Release(context.WithoutCancel(t.Context()))) }() // it reads still
					}
				})
			})
		}
	}
}
