package election

import (
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/pace"
)

const (
	leastPause    = time.Millisecond
	shortestPause = 50 * time.Millisecond
	longestPause  = time.Second
)

// endless makes a strategy one that does not end, because a candidate goes on until its context ends.
func endless(strategy redislock.RetryStrategy) redislock.RetryStrategy {
	if strategy == nil {
		return redislock.ExponentialBackoff(shortestPause, longestPause)
	}
	return func() redislock.BackOff { return &endlessBackOff{pace.Begin(strategy), strategy} }
}

type endlessBackOff struct {
	redislock.BackOff
	strategy redislock.RetryStrategy
}

// NextBackOff begins anew when the strategy has ended. If a strategy ends at once, each wait is longestPause.
func (b *endlessBackOff) NextBackOff() time.Duration {
	wait := b.BackOff.NextBackOff()
	if wait < 0 {
		b.BackOff = pace.Begin(b.strategy)
		wait = b.BackOff.NextBackOff()
	}
	if wait < 0 {
		return longestPause
	}
	return max(wait, leastPause)
}

// A tellingBackOff tells each time that somebody is about to ask again.
type tellingBackOff struct {
	redislock.BackOff
	tell func()
}

func (b *tellingBackOff) NextBackOff() time.Duration {
	b.tell()
	return b.BackOff.NextBackOff()
}
