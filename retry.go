package redislock

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

// A RetryStrategy says how long an Obtain waits before it asks again. It is called once for each
// Obtain and returns the state of that call alone, so one strategy serves any number of calls and
// goroutines.
//
// Any BackOff of github.com/cenkalti/backoff/v4 makes a strategy:
//
//	strategy := func() backoff.BackOff {
//		return backoff.NewExponentialBackOff(backoff.WithMaxElapsedTime(time.Minute))
//	}
//
// backoff.Stop, or any negative wait, ends the Obtain. A wait of less than a millisecond counts as
// one, each time: a strategy that returns 0 again and again would keep the server busy with nothing
// else. A wait that would outlast the lease of whoever holds the key is cut to it, plus a jitter;
// nothing else but the strategy and the context bounds the waiting.
type RetryStrategy func() backoff.BackOff

// NoRetry asks once. It is the default.
func NoRetry() RetryStrategy {
	return func() backoff.BackOff { return &backoff.StopBackOff{} }
}

// LinearBackoff asks again every interval, without end. An interval that is not positive does not
// ask again.
func LinearBackoff(interval time.Duration) RetryStrategy {
	if interval <= 0 {
		return NoRetry()
	}
	return func() backoff.BackOff { return backoff.NewConstantBackOff(interval) }
}

// ExponentialBackoff asks again after least, then after twice as long each time up to most,
// without end. Each wait is drawn at random from half to one and a half of its length, but never
// exceeds most: clients that were refused together do not come back together. A least below 1 ms
// counts as 1 ms, a most below least as least; but with a most of 0 or less there is no maximum.
func ExponentialBackoff(least, most time.Duration) RetryStrategy {
	if most <= 0 {
		most = endless
	}
	least = min(max(least, time.Millisecond), endless)
	most = min(max(most, least), endless)
	return func() backoff.BackOff {
		b := backoff.NewExponentialBackOff(
			backoff.WithInitialInterval(least),
			backoff.WithMaxInterval(most),
			backoff.WithMultiplier(2),
			backoff.WithRandomizationFactor(0.5),
			backoff.WithMaxElapsedTime(0),
		)
		return &capped{b, most}
	}
}

// endless is a wait that nobody sees the end of, and to which half of it can be added.
const endless = time.Duration(1 << 62)

// capped bounds the waits of a BackOff whose jitter is added after its own bound.
type capped struct {
	backoff.BackOff
	most time.Duration
}

func (c *capped) NextBackOff() time.Duration { return min(c.BackOff.NextBackOff(), c.most) }

// LimitRetry lets a strategy ask again at most n times, so that an Obtain asks n+1 times in all.
// A nil strategy does not ask again.
func LimitRetry(s RetryStrategy, n int) RetryStrategy {
	if s == nil || n <= 0 {
		return NoRetry()
	}
	return func() backoff.BackOff { return backoff.WithMaxRetries(s(), uint64(n)) }
}
