// Package shop is the code under test in docs/testing.md.
package shop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
)

// ErrBusy says that somebody else ships the order.
var ErrBusy = errors.New("somebody else ships the order")

// Ship has an order packed while nobody else touches it. The context of pack ends if the lock is lost.
func Ship(ctx context.Context, locks *redislock.Client, order string, pack func(context.Context) error) error {
	err := locks.With(ctx, []string{"lock:order:" + order}, 10*time.Second, nil, pack)
	if errors.Is(err, redislock.ErrNotObtained) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}
