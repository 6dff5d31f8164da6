package shop_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/proof/test/shop"
)

// The lock is lost while the order is packed, and somebody else has it: the packing stops.
func TestShipLost(t *testing.T) {
	t.Parallel()
	server := locktest.New(t)
	err := shop.Ship(t.Context(), server.Client(), "7", func(ctx context.Context) error {
		server.Expire("lock:order:7") // or Break
		server.Hold("lock:order:7")
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Second):
			t.Error("the packing goes on without the lock")
		}
		return ctx.Err()
	})
	if !errors.Is(err, redislock.ErrLockLost) {
		t.Errorf("got error %v", err)
	}
}
