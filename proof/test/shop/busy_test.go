package shop_test

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-14de3678/redislock/locktest"
	"github.com/seed-14de3678/redislock/proof/test/shop"
)

// Somebody else has the order: it is not packed. When it is free again, it is.
func TestShipBusy(t *testing.T) {
	t.Parallel()
	server := locktest.New(t) // when the test is over nothing may be held, and nobody may wait
	packed := 0
	pack := func(context.Context) error { packed++; return nil }

	theirs := server.Hold("lock:order:7")
	err := shop.Ship(t.Context(), server.Client(), "7", pack)
	if !errors.Is(err, shop.ErrBusy) || packed != 0 {
		t.Errorf("got error %v, packed %d times", err, packed)
	}

	if err := theirs.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := shop.Ship(t.Context(), server.Client(), "7", pack); err != nil || packed != 1 {
		t.Errorf("got error %v, packed %d times", err, packed)
	}
}
