package rows

import (
	"context"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// HandOff is the time from a Release until the next Obtain has returned.
const HandOff = "hand-off"

// waitFor is how callers can wait for a key, in the order in which a chart draws them.
var waitFor = []struct {
	way string
	opt redislock.Options
}{
	{"linear", redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Millisecond)}},
	{"exponential", redislock.Options{RetryStrategy: redislock.ExponentialBackoff(time.Millisecond, 100*time.Millisecond)}},
	{"queue", redislock.Options{Queue: true}},
}

// ways has many wait for one key. One crowd is there at a time, because callers that poll are never quiet.
func ways(ctx context.Context, s *stage) (*report, error) {
	servers, err := s.start(1)
	if err != nil {
		return nil, err
	}
	client := redislock.New(servers[0].Client())
	s.finally(client.Close)
	part := func() {}
	s.finally(func() { part() })
	var sides []measure.Side
	var passed []*handOffs
	for _, w := range waitFor {
		for _, n := range []int{2, 8, 32, 64, 128, 256} {
			h, present := &handOffs{}, (*crowd)(nil)
			passed = append(passed, h)
			sides = append(sides, measure.Side{
				Name: w.way, At: n, Servers: servers,
				Before: func(context.Context) error {
					part()
					present = gather(ctx, n, h.noting(whole(w.opt)(client, []string{"lock:ways"})))
					part = present.part
					_, err := present.block(ctx, s.plan.Length) // until they wait as they do in the middle of it
					h.median()
					return err
				},
				Block: func(ctx context.Context, length time.Duration) (int, error) {
					turns, err := present.block(ctx, length)
					h.blocks = append(h.blocks, h.median())
					return turns, err
				},
			})
		}
	}
	plan := s.plan
	plan.Length *= 4 // of many callers that poll, few have a turn in a short time
	results, err := s.interleave(ctx, plan, sides)
	if err != nil {
		return nil, err
	}
	r := &report{}
	r.add(results, measure.Calls)
	for i, side := range sides {
		r.figure(side.Name, side.At, HandOff, measure.Micros, measure.SpreadOf(passed[i].blocks[1:])) // the first does not count
	}
	return r, nil
}

// handOffs are those of a crowd that holds its key for a millisecond each time.
type handOffs struct {
	free   atomic.Int64 // since when the key may be released, in nanoseconds of the process
	mu     sync.Mutex
	took   []float64 // since median was called, in microseconds
	blocks []float64 // the median of each block
}

// noting obtains, notes how long the key was on its way, and holds it. The turn comes at once.
func (h *handOffs) noting(take obtain) obtain {
	began := time.Now()
	return func(ctx context.Context, who int) (*redislock.Lock, error) {
		lock, err := take(ctx, who)
		if err != nil {
			return nil, err
		}
		took := time.Since(began) - time.Duration(h.free.Load())
		h.mu.Lock()
		h.took = append(h.took, float64(took)/float64(time.Microsecond))
		h.mu.Unlock()
		// The timers of Go are rounded to a millisecond if the process has something else to do; those of the system are not.
		hold := syscall.NsecToTimespec(int64(time.Millisecond))
		_ = syscall.Nanosleep(&hold, nil)
		h.free.Store(int64(time.Since(began)))
		return lock, nil
	}
}

// median is that of the hand-offs since it was called before.
func (h *handOffs) median() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	median := measure.SpreadOf(h.took).Median
	h.took = nil
	return median
}
