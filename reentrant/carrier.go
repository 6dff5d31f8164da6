package reentrant

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock"
)

// A carrier is a root lock with the keys that it carries. The mutex of the owner guards its fields,
// except fields that never change.
type carrier struct {
	owner   *owner
	root    *redislock.Lock
	lost    <-chan struct{} // of the root lock
	turn    chan struct{}   // full while its lease or mode is changed
	atLeast time.Duration   // Options.HoldAtLeast of the Obtain that has taken it

	entries []*entry       // that are held
	live    int            // how many entries are held
	ttl     time.Duration  // of the lease
	renewed bool           // by the watchdog of the root lock, or by the keeper
	keeper  *keeper        // nil if there is none
	done    chan struct{}  // closed when it is released
	parting sync.WaitGroup // releases of some of its keys

	seen     uint64 // by this look
	upgrades bool   // as this look has found
}

// newCarrierLocked enters the keys of a lock that was obtained for a request.
func (o *owner) newCarrierLocked(root *redislock.Lock, r *request, write []string) *carrier {
	c := &carrier{
		owner: o, root: root, lost: root.Lost(), turn: make(chan struct{}, 1),
		atLeast: r.opt.HoldAtLeast, ttl: r.ttl, renewed: r.opt.Watchdog,
	}
	keys := root.Keys() // each once, the write keys first
	unwritten := make(map[string]bool, len(write))
	for _, key := range write {
		unwritten[key] = true
	}
	for _, key := range keys {
		e := &entry{place: place{r.client, key}, carrier: c, write: unwritten[key]}
		o.entries[e.place] = e
		c.entries = append(c.entries, e)
	}
	return c
}

// isLost reports whether the root lock was lost. It asks the lock, because its contexts may end a little before
// the channel is closed.
func (c *carrier) isLost() bool {
	select {
	case <-c.root.Lost():
		return true
	default:
		return false
	}
}

// sufficesLocked reports whether the lease is long enough for a further hold. If the lease is renewed,
// its ttl has to be long enough. Otherwise two thirds of the ttl have to be left: a renewed lease has
// that at least.
func (c *carrier) sufficesLocked(ttl time.Duration) bool {
	return ttl <= c.ttl && (c.renewed || time.Until(c.root.Deadline()) >= ttl/3*2)
}

func (c *carrier) suffices(ttl time.Duration) bool {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	return c.sufficesLocked(ttl)
}

// extend makes the lease long enough for a further hold.
func (c *carrier) extend(ctx context.Context, ttl time.Duration) error {
	if c.suffices(ttl) {
		return nil
	}
	return c.change(ctx, func() error {
		if c.suffices(ttl) { // somebody else has extended it
			return nil
		}
		return c.leaseAnew(ctx, ttl)
	})
}

// refresh has the lease last for ttl from now at least. It never makes it shorter.
func (c *carrier) refresh(ctx context.Context, ttl time.Duration) error {
	return c.change(ctx, func() error {
		if time.Until(c.root.Deadline()) >= ttl && !c.isLost() {
			return nil
		}
		c.owner.mu.Lock()
		if c.renewed {
			ttl = max(ttl, c.ttl)
		}
		c.owner.mu.Unlock()
		return c.leaseAnew(ctx, ttl)
	})
}

// leaseAnew is a Refresh of the root lock, one change at a time.
func (c *carrier) leaseAnew(ctx context.Context, ttl time.Duration) error {
	if err := c.root.Refresh(ctx, ttl); err != nil {
		return err
	}
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	c.ttl = ttl
	return nil
}

// upgrade makes all keys write keys.
func (c *carrier) upgrade(ctx context.Context) error {
	return c.change(ctx, func() error {
		if c.isWritten() { // meanwhile: a second upgrade would change the fencing number again
			return nil
		}
		if err := c.root.Upgrade(ctx); err != nil {
			return fmt.Errorf("this owner reads what it is to write: %w", err)
		}
		c.owner.mu.Lock()
		defer c.owner.mu.Unlock()
		for _, e := range c.entries {
			e.write = true
		}
		return nil
	})
}

func (c *carrier) isWritten() bool {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	for _, e := range c.entries {
		if !e.write {
			return false
		}
	}
	return true
}

// change does something to the root lock, one change at a time: if two changes of a lease are under
// way together, nobody knows which comes last.
func (c *carrier) change(ctx context.Context, fn func() error) error {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("another goroutine of this owner changes its lease: %w: %w",
			redislock.ErrNotObtained, context.Cause(ctx))
	}
	defer func() { <-c.turn }()
	return c.asLoss(fn())
}

// asLoss turns an error that says that the root lock is not held into a loss, if nobody has released the lock.
func (c *carrier) asLoss(err error) error {
	if errors.Is(err, redislock.ErrLockNotHeld) && !c.isReleased() {
		err = fmt.Errorf("%w: %w", redislock.ErrLockLost, err)
	}
	return err
}

// isReleased reports whether it was released, or is being released.
func (c *carrier) isReleased() bool {
	c.owner.mu.Lock()
	defer c.owner.mu.Unlock()
	return c.done != nil
}

// whyLost is the error that a hold of a lost root lock gets, with the reason if somebody has broken it.
func (c *carrier) whyLost() error {
	return fmt.Errorf("%w: %w", redislock.ErrLockNotHeld, c.cause())
}

// cause is the cause with which the contexts of a lost root lock end.
func (c *carrier) cause() error { return context.Cause(c.root.Context(context.Background())) }
