package rows

import (
	"context"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// A crowd stands in line for a set, or for several that overlap. Its turns come only when they are
// let, so that a crowd that is not measured does nothing.
type crowd struct {
	turns  chan struct{}
	failed chan error
	leave  context.CancelFunc
	all    sync.WaitGroup
}

// obtain is how one of a crowd obtains its set.
type obtain func(ctx context.Context, who int) (*redislock.Lock, error)

// settling is how long after its last turn a crowd is still busy with it: the one that has left comes
// back.
const settling = 20 * time.Millisecond

// gather starts a crowd of n. One of them holds the set from then on, the others wait, each of them in Redis, as if it were
// another process.
func gather(ctx context.Context, n int, take obtain) *crowd {
	c := &crowd{turns: make(chan struct{}), failed: make(chan error, n)}
	ctx, c.leave = context.WithCancel(pace.OnWaiting(ctx, nil))
	for who := range n {
		c.all.Go(func() {
			if err := c.stand(ctx, who, take); err != nil && ctx.Err() == nil {
				c.failed <- err
			}
		})
	}
	return c
}

// stand is the life of one of the crowd.
func (c *crowd) stand(ctx context.Context, who int, take obtain) error {
	for {
		lock, err := take(ctx, who)
		if err != nil {
			return err
		}
		select {
		case <-c.turns:
		case <-ctx.Done():
		}
		if err := lock.Release(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// block lets turns come for so long. It returns when the last one is over.
func (c *crowd) block(ctx context.Context, length time.Duration) (turns int, err error) {
	for began := time.Now(); turns == 0 || time.Since(began) < length; turns++ {
		select {
		case c.turns <- struct{}{}:
		case err := <-c.failed:
			return turns, err
		case <-ctx.Done():
			return turns, ctx.Err()
		}
	}
	time.Sleep(settling)
	return turns, nil
}

// part ends a crowd and returns when all have gone.
func (c *crowd) part() {
	c.leave()
	c.all.Wait()
}
