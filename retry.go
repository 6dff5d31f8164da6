package redislock

import (
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock/internal/pace"
)

// A RetryStrategy says how long an Obtain waits before its next attempt. It is called once for each Obtain
// and returns the state of that Obtain alone, so one strategy serves any number of Obtains. Any policy of
// github.com/cenkalti/backoff makes a strategy, be it of v4 or v5:
//
//	strategy := func() redislock.BackOff { return backoff.NewExponentialBackOff() }
//
// A wait that is longer than the lease of the current holder is cut to that lease, plus a jitter.
type RetryStrategy func() BackOff

// A BackOff is the waits of one Obtain. NextBackOff returns how long to wait before the next attempt. A
// negative wait, such as backoff.Stop, ends the Obtain; less than a millisecond counts as one. If a BackOff
// has a method Reset(), that is called once, before the first wait.
type BackOff = interface{ NextBackOff() time.Duration }

// NoRetry makes one attempt, also with [Options].Wait.
func NoRetry() RetryStrategy {
	return func() BackOff { return &backoff.StopBackOff{} }
}

// LinearBackoff waits for interval before each further attempt, without end. With an interval that is not
// positive there is one attempt.
func LinearBackoff(interval time.Duration) RetryStrategy {
	if interval <= 0 {
		return NoRetry()
	}
	return func() BackOff { return backoff.NewConstantBackOff(interval) }
}

// ExponentialBackoff waits for least before the second attempt and for twice as long before each further one,
// up to most, without end. Each wait is drawn at random from half to one and a half of its length, but not
// above most. A least below 1 ms counts as 1 ms. If most is 0 or less there is no maximum.
func ExponentialBackoff(least, most time.Duration) RetryStrategy {
	return pace.Exponential(least, most)
}

// LimitRetry lets a strategy make at most n further attempts, so that an Obtain makes n+1 in all.
func LimitRetry(s RetryStrategy, n int) RetryStrategy {
	if s == nil || n <= 0 {
		return NoRetry()
	}
	return func() BackOff {
		b := pace.Begin(s)
		if b == nil {
			return nil // which is a mistake, and said to be one
		}
		return &limited{b, n}
	}
}

// limited is a BackOff that has so many waits left.
type limited struct {
	BackOff
	left int
}

func (l *limited) NextBackOff() time.Duration {
	if l.left == 0 {
		return pace.Stop
	}
	l.left--
	return l.BackOff.NextBackOff()
}
