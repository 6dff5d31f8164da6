package reentrant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/reentrant"
)

// A nil Hold, which a caller has that did not look at the error of Obtain, holds nothing, and says so.
func TestHoldOfNobody(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]*reentrant.Hold{
		"nil": nil, "zero": new(reentrant.Hold), "of no context": reentrant.FromContext(t.Context()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			_, err := hold.TTL(ctx)
			for what, err := range map[string]error{
				"refresh": hold.Refresh(ctx, long), "release": hold.Release(ctx), "ttl": err,
				"context": context.Cause(hold.Context(ctx)),
			} {
				if !errors.Is(err, redislock.ErrLockNotHeld) {
					t.Errorf("%s: got error %v", what, err)
				}
			}
			if hold.Keys() != nil || hold.Fence() != 0 || hold.Metadata() != "" || hold.Deadline() != (time.Time{}) ||
				hold.String() == "" || reentrant.FromContext(hold.Context(ctx)) != nil {
				t.Error("it has something")
			}
			select {
			case <-hold.Lost():
				t.Error("it was lost")
			default:
			}
		})
	}
}
