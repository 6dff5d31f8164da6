package multi_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/multi"
)

// A nil Lock, which a caller has that did not look at the error of Obtain, holds nothing, and says so.
func TestLockOfNobody(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]*multi.Lock{
		"nil": nil, "zero": new(multi.Lock), "of no context": multi.FromContext(t.Context()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			_, err := lock.TTL(ctx)
			for what, err := range map[string]error{
				"refresh": lock.Refresh(ctx, long), "release": lock.Release(ctx), "leave": lock.Leave(ctx, long), "ttl": err,
				"context": context.Cause(lock.Context(ctx)),
			} {
				if !errors.Is(err, redislock.ErrLockNotHeld) {
					t.Errorf("%s: got error %v", what, err)
				}
			}
			if lock.Keys() != nil || lock.Parts() != nil || lock.Token() != "" || lock.Metadata() != "" ||
				lock.Deadline() != (time.Time{}) || multi.FromContext(lock.Context(ctx)) != lock {
				t.Error("it has something")
			}
			select {
			case <-lock.Lost():
				t.Error("it was lost")
			default:
			}
		})
	}
}
