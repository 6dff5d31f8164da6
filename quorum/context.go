package quorum

import (
	"context"
	"fmt"

	"github.com/seed-14de3678/redislock"
)

// within is the key under which a context has the lock of the function that runs.
type within struct{}

// FromContext returns the lock under which a function runs: the lock of the innermost [Client.With] or
// [Lock.Context] from which ctx is derived. It returns nil if there is none. A nil Lock can be asked:
// it has no keys, no deadline and no fencing number. A lock that was released or lost meanwhile is
// returned as well.
//
// [redislock.FromContext] finds neither such a lock nor its locks at the single nodes.
func FromContext(ctx context.Context) *Lock {
	l, _ := ctx.Value(within{}).(*Lock)
	return l
}

// errNothing is the error of a lock that no Obtain has returned.
var errNothing = fmt.Errorf("%w: no Obtain has returned it", redislock.ErrLockNotHeld)
