// Package pace is how an Obtain waits from one attempt to the next, whether it asks one server,
// several in turn, or many at once.
package pace

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// BackOff is the redislock.BackOff. Both are aliases, and so the same type, because this package must not import that one.
type BackOff = interface{ NextBackOff() time.Duration }

// Stop is a wait that ends an Obtain, as any negative wait does.
const Stop = backoff.Stop

// Begin returns the BackOff that a strategy makes for one Obtain, which may be nil. If the BackOff can be reset that is
// done first, as the Retry of cenkalti/backoff does it: its ExponentialBackOff ignores an InitialInterval that is set
// later.
func Begin(strategy func() BackOff) BackOff {
	b := strategy()
	if used, ok := b.(interface{ Reset() }); ok {
		used.Reset()
	}
	return b
}

// A Pace is one strategy's waits for one Obtain. It is not safe for concurrent use.
type Pace struct {
	strategy func() BackOff
	waits    BackOff       // from the first time that it asks
	timer    *time.Timer   // nil before it has slept
	ahead    time.Duration // what Next returns next, if that is known
	isAhead  bool
	isNil    bool // what the strategy has returned
}

// New makes the pace of one Obtain. A nil strategy does not ask again.
func New(strategy func() BackOff) Pace { return Pace{strategy: strategy} }

// Strategy returns the strategy of an Obtain that was given this one, which may be nil, and may wait for so long. An
// Obtain with a wait alone asks again and again.
func Strategy(given func() BackOff, wait time.Duration) func() BackOff {
	if given == nil && wait > 0 {
		return whenWaiting
	}
	return given
}

var whenWaiting = Exponential(10*time.Millisecond, 250*time.Millisecond)

// Least is the shortest wait: a strategy without waits would ask some thousand times a second.
const Least = time.Millisecond

// Next returns how long to wait before the next attempt, at least Least. If it is negative there is no next attempt.
func (p *Pace) Next() time.Duration {
	if p.isAhead {
		p.isAhead = false
		return p.ahead
	}
	if p.strategy == nil {
		return Stop
	}
	if p.waits == nil {
		if p.waits = Begin(p.strategy); p.waits == nil {
			p.strategy, p.isNil = nil, true
			return Stop
		}
	}
	wait := p.waits.NextBackOff()
	if wait < 0 {
		return wait
	}
	return max(wait, Least)
}

// GoesOn reports whether there is to be another attempt.
func (p *Pace) GoesOn() bool {
	p.ahead = p.Next()
	p.isAhead = true
	return p.ahead >= 0
}

// Stopped returns the error of an Obtain that does not ask again after this one.
func (p *Pace) Stopped(err error) error {
	if p.isNil {
		return fmt.Errorf("%w; it is not asked again, because the RetryStrategy has returned nil in place of a BackOff", err)
	}
	return err
}

// mostJitter is by how much a wait that was cut may exceed the time that it was cut to.
const mostJitter = 20 * time.Millisecond

// Cut shortens a wait to the remaining time of the lock in the way, and a jitter, so that not all come at once. If left
// is negative that time is not known, and the wait stays as it is.
func Cut(wait, left time.Duration) time.Duration {
	if left < 0 || wait <= left {
		return wait
	}
	return left + time.Millisecond + rand.N(min(wait-left, mostJitter))
}

type whileHolding struct{}

// WhileHolding marks the context of an Obtain if its caller keeps other keys locked until it has these as well, perhaps
// at other servers. Such an Obtain does not wait for a server that does not answer: even in line, it ends as soon as an
// attempt had no answer.
func WhileHolding(ctx context.Context) context.Context {
	return context.WithValue(ctx, whileHolding{}, true)
}

// IsWhileHolding reports whether a context is marked so.
func IsWhileHolding(ctx context.Context) bool { return ctx.Value(whileHolding{}) != nil }

type givingBack struct{}

// GivingBack marks the context of a Release that gives back a part of a lock which nobody has any more, or never had.
// It may begin long after everybody was told. So it leaves alone what other locks of its token have obtained since
// then.
func GivingBack(ctx context.Context) context.Context {
	return context.WithValue(ctx, givingBack{}, true)
}

// IsGivingBack reports whether a context is marked so.
func IsGivingBack(ctx context.Context) bool { return ctx.Value(givingBack{}) != nil }

// Sleep waits, but not beyond the end of ctx. It reports whether ctx goes on.
func Sleep(ctx context.Context, wait time.Duration) bool { return new(Pace).Sleep(ctx, wait) }

// Sleep is the same for one Obtain, which has one timer for all of its waits.
func (p *Pace) Sleep(ctx context.Context, wait time.Duration) bool {
	defer p.Timer(wait).Stop()
	select {
	case <-p.timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Timer starts the one timer of an Obtain.
func (p *Pace) Timer(wait time.Duration) *time.Timer {
	if p.timer == nil {
		p.timer = time.NewTimer(wait)
	} else {
		p.timer.Reset(wait)
	}
	return p.timer
}
