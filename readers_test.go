package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
)

// A reader is not alone as long as any other reads, whichever of their leases ends first.
func TestReaderIsNotAlone(t *testing.T) {
	for name, write := range map[string]func(context.Context, *world, *redislock.Lock, []string) error{
		"upgrade": func(ctx context.Context, _ *world, lock *redislock.Lock, _ []string) error { return lock.Upgrade(ctx) },
		"obtain under the same token": func(ctx context.Context, w *world, lock *redislock.Lock, keys []string) error {
			_, err := w.client.Obtain(ctx, keys, long, &redislock.Options{Token: lock.Token()})
			return err
		},
	} {
		for others, ttls := range map[string][]time.Duration{
			"a lease that ends sooner":           {long / 2},
			"a lease that ends later":            {2 * long},
			"two leases that end sooner":         {long / 2, long / 3},
			"one that ends sooner and one later": {long / 2, 2 * long},
		} {
			t.Run(name+" beside "+others, func(t *testing.T) {
				scenario(t, func(t *testing.T, w *world) {
					keys := w.keys("k")
					lock := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), keys, long, nil))
					for _, ttl := range ttls {
						other := must[*redislock.Lock](t)(w.client.ObtainRead(t.Context(), keys, ttl, nil))
						wantConflict(t, write(t.Context(), w, lock, keys), keys[0], redislock.ModeRead)
						defer func() { noError(t, other.Release(context.WithoutCancel(t.Context()))) }() // it reads still
					}
				})
			})
		}
	}
}
