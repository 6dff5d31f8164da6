package api_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
)

// A nil Lock, which a caller has that did not look at the error of Obtain, holds nothing: every method says so, or has
// nothing to say.
func TestLockOfNobody(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]*redislock.Lock{"nil": nil, "zero": new(redislock.Lock)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			_, err := lock.TTL(ctx)
			for what, err := range map[string]error{
				"release": lock.Release(ctx), "ReleaseKeys": lock.ReleaseKeys(ctx, []string{"a"}), "ReleaseKeys of none": lock.ReleaseKeys(ctx, nil),
				"ttl": err, "refresh": lock.Refresh(ctx, time.Minute), "upgrade": lock.Upgrade(ctx), "downgrade": lock.Downgrade(ctx),
				"RaiseFence": lock.RaiseFence(ctx, 7), "Context": context.Cause(lock.Context(ctx)),
			} {
				if !errors.Is(err, redislock.ErrLockNotHeld) {
					t.Errorf("%s: got error %v", what, err)
				}
			}
			if keys := lock.Keys(); len(keys) > 0 {
				t.Errorf("got keys %q", keys)
			}
			if token, metadata := lock.Token(), lock.Metadata(); token != "" || metadata != "" {
				t.Errorf("got token %q, metadata %q", token, metadata)
			}
			if deadline := lock.Deadline(); !deadline.IsZero() {
				t.Errorf("got deadline %v", deadline)
			}
			if number := lock.Fence(); number != 0 {
				t.Errorf("got fencing number %d", number)
			}
			select {
			case <-lock.Lost():
				t.Error("it is said to be lost, and was never held")
			default:
			}
		})
	}
}
