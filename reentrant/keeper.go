package reentrant

import (
	"context"
	"errors"
	"time"

	"github.com/seed-14de3678/redislock"
)

// A keeper renews a root lock that was obtained without a watchdog, once a hold with a watchdog
// needs it. It goes on until the root lock is released or lost. A nil keeper keeps nothing.
type keeper struct {
	carrier *carrier
	cancel  context.CancelFunc
	ended   chan struct{}
}

// keepLocked makes sure that the lease is renewed.
func (c *carrier) keepLocked() {
	if c.renewed {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.keeper = &keeper{carrier: c, cancel: cancel, ended: make(chan struct{})}
	c.renewed = true
	go c.keeper.run(ctx)
}

// stop has the keeper end.
func (k *keeper) stop() {
	if k != nil {
		k.cancel()
	}
}

// wait returns when the keeper has ended.
func (k *keeper) wait() {
	if k != nil {
		<-k.ended
	}
}

// run renews the lease when a third of it is over. It soon repeats a renewal that was not answered.
func (k *keeper) run(ctx context.Context) {
	defer close(k.ended)
	c := k.carrier
	ttl := k.ttl()
	timer := time.NewTimer(k.pause(ttl))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.lost:
			return
		case <-timer.C:
		}
		ttl = k.ttl()
		err := k.renew(ctx, ttl)
		switch {
		case errors.Is(err, redislock.ErrLockNotHeld):
			return
		case err != nil:
			timer.Reset(max(ttl/9, time.Millisecond))
		case ttl != k.ttl():
			timer.Reset(0) // the lease was extended meanwhile, and this renewal may have come after that
		default:
			timer.Reset(k.pause(ttl))
		}
	}
}

// renew asks once, and leaves enough time to ask again.
func (k *keeper) renew(ctx context.Context, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, max(ttl/6, time.Millisecond))
	defer cancel()
	return k.carrier.root.Refresh(ctx, ttl)
}

// pause is how long it takes until two thirds of the lease are left. A very short lease has less
// than that from the start.
func (k *keeper) pause(ttl time.Duration) time.Duration {
	return max(time.Until(k.carrier.root.Deadline())-ttl/3*2, ttl/9)
}

func (k *keeper) ttl() time.Duration {
	k.carrier.owner.mu.Lock()
	defer k.carrier.owner.mu.Unlock()
	return k.carrier.ttl
}
