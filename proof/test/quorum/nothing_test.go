package quorum_test

import (
	"context"
	"errors"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/quorum"
)

// A nil Lock, which a caller has that did not look at the error of Obtain, holds nothing, and says so.
func TestLockOfNobody(t *testing.T) {
	t.Parallel()
	var nobody *quorum.Client
	for name, test := range map[string]struct {
		lock *quorum.Lock
		want error
	}{
		"nil":                              {nil, redislock.ErrLockNotHeld},
		"zero":                             {new(quorum.Lock), redislock.ErrLockNotHeld},
		"attached by a Client of nothing":  {nobody.Attach([]string{"k"}, "token"), nil},
		"attached by a zero Client":        {new(quorum.Client).Attach([]string{"k"}, "token"), nil},
		"of a context without a lock":      {quorum.FromContext(t.Context()), redislock.ErrLockNotHeld},
		"of a context of nobody's own key": {quorum.FromContext(context.WithValue(t.Context(), word{}, 1)), redislock.ErrLockNotHeld},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, lock := t.Context(), test.lock
			_, err := lock.TTL(ctx)
			for what, err := range map[string]error{
				"refresh": lock.Refresh(ctx, long), "release": lock.Release(ctx), "ttl": err,
				"context": context.Cause(lock.Context(ctx)),
			} {
				if err == nil || test.want != nil && !errors.Is(err, test.want) {
					t.Errorf("%s: got error %v", what, err)
				}
			}
			if lock.Fence() != 0 || lock.Nodes() != 0 || len(lock.Keys()) != 0 || lock.Metadata() != "" || !lock.Deadline().IsZero() {
				t.Error("it has something")
			}
			select {
			case <-lock.Lost():
				t.Error("it counts as lost")
			default:
			}
		})
	}
}
