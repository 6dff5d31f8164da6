package redislock

import (
	"context"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/lease"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/proto"
)

// A Release may pass its hold on to the next Obtain of the Client, without Redis: see Options.PassOn. The model in
// proof/models/passing shows what that needs.

// A hold is what is passed on: the keys, under the value and with the lease that they have in Redis.
type hold struct {
	value   string
	set     keySet
	lease   lease.Lease
	numbers proto.Numbers // of its lock, if it is fenced; others come after that
}

// holdLocked returns the hold of a lock that its Release may pass on if its line allows that: half of its ttl is left, no
// request but renewals has changed it, nobody else knows its token, and there is a fencing number for the next lock.
func (l *Lock) holdLocked(ctx context.Context) *hold {
	if l.line == nil || l.state != held || l.keep != (clock.Moment{}) || l.lease.Changes > 0 ||
		l.set.fences != nil && l.numbers.First >= l.numbers.Last ||
		l.lease.Left(clock.Now()) < l.lease.TTL/2 || l.tokenKnown.Load() || l.owner.Load() != nil || pace.IsGivingBack(ctx) {
		return nil
	}
	return &hold{l.value, l.set, l.lease, l.numbers}
}

// hasKeys reports whether a lock of the Client may have its keys still: it has not ended by itself, and was not lost.
func hasKeys(lock any) bool {
	l := lock.(*Lock)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != lost && !clock.Now().Reached(l.lease.Deadline)
}
