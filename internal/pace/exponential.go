package pace

import (
	"time"

	"github.com/cenkalti/backoff/v4"
)

// endless is a wait without an end in sight, to which half of it can be added.
const endless = time.Duration(1 << 62)

// Exponential is the strategy with waits that double from least to most, each with a jitter. A least below a
// millisecond counts as one. A most below least counts as least; if it is not positive there is no bound.
func Exponential(least, most time.Duration) func() BackOff {
	if most <= 0 {
		most = endless
	}
	least = min(max(least, time.Millisecond), endless)
	most = min(max(most, least), endless)
	return func() BackOff {
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

// capped bounds the waits of a BackOff that adds its jitter after its own bound.
type capped struct {
	backoff.BackOff
	most time.Duration
}

func (c *capped) NextBackOff() time.Duration { return min(c.BackOff.NextBackOff(), c.most) }
