package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// Leave ends the lock, as Release does, but leaves its keys taken for ttl from now: by nobody, so that
// nobody has them before that time is over. Keys that are read can be read by others meanwhile. The
// time is up to 365 days, and may be shorter or longer than what is left of the lease. If it is not
// positive, because the time until which the keys were to be left has passed, Leave is a Release. If
// the lock was obtained with [Options].HoldAtLeast, and more of that is to come, the keys are left for
// so long.
//
// Nothing of the hold has any effect on the keys after that, nor can its token obtain them sooner than
// others. Those who stand in line are told when the time is over. [Client.Inspect] and a
// [*ConflictError] say that the keys were left; [Client.Break] frees them. docs/leaving.md has the
// rest, and a recipe for jobs that are to run once although several machines start them.
//
// Everything else is as in [Lock.Release], the errors, too. If no answer comes, Leave goes on in the
// background, and so does a Release that comes after it: the keys end when they were to end.
func (l *Lock) Leave(ctx context.Context, ttl time.Duration) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: leave: %w", err)
	}
	if ttl > 0 {
		ttl, err := checkTTL(max(ttl, minTTL)) // what is left of a time may be a fraction
		if err != nil {
			return fmt.Errorf("redislock: leave: %w", err)
		}
		l.keepFor(ttl)
	}
	return l.release(ctx)
}

// keepFor has whatever releases the lock from now on leave its keys for so long, if not for longer.
func (l *Lock) keepFor(ttl time.Duration) {
	until := clock.Now().Add(ttl)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = l.keep.Later(until)
}
