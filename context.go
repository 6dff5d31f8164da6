package redislock

import (
	"context"

	"github.com/seed-14de3678/redislock/internal/inctx"
)

// FromContext returns the lock under which a function runs: that of the innermost [Client.With] or
// [Lock.Context] from which ctx is derived. It returns nil if there is none. A nil Lock can be asked:
// it has no keys and no fencing number. A lock that was released or lost meanwhile is returned as well.
//
// The locks of packages quorum, multi and reentrant are found by the FromContext of these packages.
func FromContext(ctx context.Context) *Lock {
	l, _ := ctx.Value(inctx.Root{}).(*Lock)
	return l
}
