package reentrant_test

import (
	"errors"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/reentrant"
)

// A nil Hold, which a caller has that did not look at the error of Obtain, holds nothing, and says so.
func TestHoldOfNobody(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]*reentrant.Hold{"nil": nil, "zero": new(reentrant.Hold)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			for what, err := range map[string]error{
				"refresh": hold.Refresh(ctx, long), "release": hold.Release(ctx),
			} {
				if !errors.Is(err, redislock.ErrLockNotHeld) {
					t.Errorf("%s: got error %v", what, err)
				}
			}
		})
	}
}
