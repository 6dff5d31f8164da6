package measure

import (
	"sync/atomic"
	"time"
)

// pace is how long a fixed piece of work takes by the clock, at best: what interrupts one try does not
// count. It is longer while somebody else uses the same core, or the host of a virtual machine gives
// it less of one, which processor time does not show.
func pace() time.Duration {
	const tries, steps = 5, 100_000
	best := time.Hour
	for range tries {
		began := time.Now()
		x := uint64(began.UnixNano()) | 1
		for range steps {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
		}
		best = min(best, time.Since(began))
		idle.Store(x) // so that the work is done
	}
	return best
}

var idle atomic.Uint64

// Slowness is how many times as long as at their best the processors took for the same work, in the
// middle of all blocks. The best is that of all that this process has measured.
func Slowness(results []Result) float64 {
	var all []float64
	for _, r := range results {
		for _, u := range r.Blocks {
			all = append(all, float64(u.Pace))
		}
	}
	return SpreadOf(all).Median / float64(best.Load())
}

// best is the shortest pace so far.
var best atomic.Int64

// note keeps the best pace, and returns the one it is given.
func note(now time.Duration) time.Duration {
	for {
		old := best.Load()
		if old > 0 && old <= int64(now) || best.CompareAndSwap(old, int64(now)) {
			return now
		}
	}
}
