package shop_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/proof/test/shop"
)

// Redis cannot be reached any more: the packing stops before somebody else can have the order. In the bubble that
// takes no time.
func TestShipAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := locktest.New(t)
		var stopped time.Duration
		err := shop.Ship(t.Context(), server.Client(), "7", func(ctx context.Context) error {
			began := time.Now()
			server.Away()
			select {
			case <-ctx.Done():
			case <-time.After(time.Minute):
				t.Error("the packing goes on without the lock")
			}
			stopped = time.Since(began)
			return ctx.Err()
		})
		if !errors.Is(err, redislock.ErrLockLost) || stopped >= 10*time.Second {
			t.Errorf("got error %v, stopped after %v", err, stopped)
		}

		server.Back()
		server.Cut(locktest.Obtain).Always() // Obtain is executed, but nobody hears of it
		err = shop.Ship(t.Context(), server.Client(), "7", func(context.Context) error {
			t.Error("it is packed, and nobody knows whether the lock is held")
			return nil
		})
		if !errors.Is(err, redislock.ErrUnknownOutcome) {
			t.Errorf("got error %v", err)
		}
	})
}
