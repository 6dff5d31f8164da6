package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/shown"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// This file says how far an Obtain is, and when it gives up.

// attempts is how far one Obtain is.
type attempts struct {
	began    clock.Moment
	count    int
	conflict *ConflictError // the latest conflict
	last     error          // the error of the latest attempt
	ended    clock.Moment   // when it was seen that ctx has ended; zero: not yet
	silent   bool           // nobody has answered the latest attempt
}

// mostName bounds the length of Options.Name, in bytes.
const mostName = 128

// checkTimes checks the options about the Obtain itself, which are not sent to Redis.
func (c *Client) checkTimes(opt *Options) error {
	if name, why := clock.CheckTimes(opt.Wait, opt.HoldAtLeast); why != "" {
		return &InvalidError{name, why}
	}
	if len(opt.Name) > mostName {
		return invalid("Name", "it has %d bytes, the limit is %d", len(opt.Name), mostName)
	}
	return c.checkOutlasts("HoldAtLeast", opt.HoldAtLeast)
}

// strategyOf returns how an Obtain with these options asks again; nil if it asks once.
func strategyOf(opt *Options) RetryStrategy {
	if opt.Queue {
		return opt.RetryStrategy
	}
	return pace.Strategy(opt.RetryStrategy, opt.Wait)
}

// over is the error of an Obtain that stops asking. However short its Wait is, it asks once.
func (o *obtaining) over(ctx context.Context) error {
	switch {
	case o.first.call != nil: // it has asked
	case o.caller.Err() != nil, ctx.Err() != nil && o.asked.count > 0:
		o.asked.noteEnded()
		return o.contextEnded(ctx)
	case o.client.closed.Load():
		return &endedError{fmt.Errorf("redislock: obtain %s: %w", o.want.set, wire.ErrClosed)}
	}
	return nil
}

// isLast reports whether it is no use to ask again after an error.
func isLast(err error) bool {
	_, ended := errors.AsType[*endedError](err)
	return ended || !errors.Is(err, ErrNotObtained) && wire.Classify(err) == wire.Final
}

// inTheWayFor is how long the holder that is in the way may stay there; negative if nobody knows.
func (a *attempts) inTheWayFor() time.Duration {
	if conflict, ok := errors.AsType[*ConflictError](a.last); ok {
		return conflict.TTL
	}
	return -1
}

// noteEnded takes note that ctx has ended.
func (a *attempts) noteEnded() {
	if a.ended == (clock.Moment{}) {
		a.ended = clock.Now()
	}
}

// patience is how much longer an Obtain may take if its ctx has ended. If ctx has not ended, it is how long the Obtain
// waits for the answer to its clean-up.
func (a *attempts) patience() time.Duration {
	switch {
	case a.ended != (clock.Moment{}):
		return clock.Now().Until(a.ended.Add(patience))
	case a.silent:
		return 0 // it has waited for that server long enough
	}
	return patience
}

// spent says how long the Obtain has taken so far, and how many attempts.
func (a *attempts) spent() string {
	return fmt.Sprintf("%s and %s", shown.Duration(clock.Now().Since(a.began)), count.Of(a.count, "attempt"))
}

// contextEnded is the error of an Obtain if its context has ended. It says why the Obtain had not succeeded before:
// that the outcome is not known; or the latest conflict, if there was one, and what has failed since.
func (o *obtaining) contextEnded(ctx context.Context) error {
	why, conflict := o.asked.last, o.asked.conflict
	switch {
	case errors.Is(why, ErrUnknownOutcome), errors.Is(why, ErrNotReplicated):
	case conflict != nil && why != nil && !errors.Is(why, ErrNotObtained):
		why = fmt.Errorf("%w; then: %w", conflict, why)
	case conflict != nil:
		why = conflict
	case why == nil:
		why = ErrNotObtained
	}
	return &endedError{fmt.Errorf("redislock: obtain %s: %w after %s: %w",
		o.want.set, context.Cause(ctx), o.asked.spent(), why)}
}
