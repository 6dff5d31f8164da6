package redislock

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// The leases of the matrix. A guard lives for 300 s, which is longer than a cell lasts.
const (
	matrixTTL     = 60 * time.Second  // of the first hold
	matrixNextTTL = 120 * time.Second // of those after it
	matrixShort   = 20 * time.Second
	matrixMiddle  = 90 * time.Second
	matrixLong    = 180 * time.Second
)

// A matrixOperation is what may follow a stray.
type matrixOperation struct {
	name string
	run  func(ctx context.Context, c *matrixCell) error
	// weakens says that other holds of the token cannot count on their keys any more.
	weakens bool
	// frees says that its releases are no clean-ups.
	frees bool
	// next says that it obtains, and that what is held is released before.
	next bool
}

// matrixOperations by code.
var matrixOperations = map[byte]*matrixOperation{
	's': {name: "Refresh, shorter", weakens: true, run: func(ctx context.Context, c *matrixCell) error {
		return c.hold.Refresh(ctx, matrixShort)
	}},
	'l': {name: "Refresh, longer", run: func(ctx context.Context, c *matrixCell) error {
		return c.hold.Refresh(ctx, matrixLong)
	}},
	'n': {name: "renewal", run: func(_ context.Context, c *matrixCell) error { return c.renewal() }},
	'd': {name: "Downgrade", weakens: true, run: func(ctx context.Context, c *matrixCell) error {
		return c.converts(c.hold.Downgrade(ctx))
	}},
	'u': {name: "Upgrade", weakens: true, run: func(ctx context.Context, c *matrixCell) error {
		return c.converts(c.hold.Upgrade(ctx))
	}},
	'f': {name: "ReleaseKeys, first", weakens: true, frees: true, run: func(ctx context.Context, c *matrixCell) error {
		return c.hold.ReleaseKeys(ctx, c.hold.Keys()[0])
	}},
	'o': {name: "ReleaseKeys, last", weakens: true, frees: true, run: func(ctx context.Context, c *matrixCell) error {
		keys := c.hold.Keys()
		return c.hold.ReleaseKeys(ctx, keys[len(keys)-1])
	}},
	'b': {name: "RaiseFence", run: func(ctx context.Context, c *matrixCell) error {
		return c.hold.RaiseFence(ctx, c.hold.Fence()+1000)
	}},
	't': {name: "Refresh of an attached lock", run: func(ctx context.Context, c *matrixCell) error {
		return c.second().Attach(c.hold.Keys(), c.token).Refresh(ctx, matrixLong)
	}},
	'h': {name: "Refresh of an attached lock, less long", run: func(ctx context.Context, c *matrixCell) error {
		return c.second().Attach(c.hold.Keys(), c.token).Refresh(ctx, matrixMiddle)
	}},
	'a': {name: "Obtain while it is held", run: func(ctx context.Context, c *matrixCell) error {
		keys := c.hold.Keys()
		return c.takes(c.main.Obtain(ctx, []string{keys[len(keys)-1], keys[0]}, matrixShort, c.options()))
	}},
	'r': {name: "Release", weakens: true, frees: true, run: func(ctx context.Context, c *matrixCell) error {
		return c.release(ctx)
	}},
	'z': {name: "Release of an attached lock", weakens: true, frees: true, run: func(ctx context.Context, c *matrixCell) error {
		keys := c.hold.Keys()
		c.older, c.hold = append(c.older, c.hold), nil
		c.forgetOlder()
		return c.second().Attach(keys, c.token).Release(ctx)
	}},
	'W': {name: "Obtain", next: true, run: func(ctx context.Context, c *matrixCell) error {
		return c.takes(c.main.Obtain(ctx, c.keys, matrixNextTTL, c.options()))
	}},
	'X': {name: "Obtain, other order", next: true, run: func(ctx context.Context, c *matrixCell) error {
		n := len(c.keys)
		return c.takes(c.main.Obtain(ctx, []string{c.keys[n-1], c.keys[0], c.keys[n/2]}, matrixNextTTL, c.options()))
	}},
	'R': {name: "ObtainRead", next: true, run: func(ctx context.Context, c *matrixCell) error {
		return c.takes(c.main.ObtainRead(ctx, c.keys, matrixNextTTL, c.options()))
	}},
	'M': {name: "ObtainMixed", next: true, run: func(ctx context.Context, c *matrixCell) error {
		return c.takes(c.main.ObtainMixed(ctx, c.keys[1:2], c.keys, matrixNextTTL, c.options()))
	}},
}

// options are those of every Obtain of the cell.
func (c *matrixCell) options() *Options {
	opt := &Options{Token: c.token, Watchdog: true, Fenced: c.row.fenced}
	if c.row.generated {
		opt.RetryStrategy = LinearBackoff(100 * time.Millisecond) // another hold is another owner
	}
	return opt
}

// takes makes a lock the newest hold.
func (c *matrixCell) takes(lock *Lock, err error) error {
	if err != nil {
		return err
	}
	if c.hold != nil {
		c.older = append(c.older, c.hold)
	} else if c.row.fenced && lock.Fence() <= c.fence && !c.kept {
		c.fault("the fencing number is %d after %d", lock.Fence(), c.fence)
	}
	c.hold, c.kept = lock, false
	c.fence = max(c.fence, lock.Fence())
	return nil
}

// converts takes note of whether the modes are known.
func (c *matrixCell) converts(err error) error {
	c.unsure[c.hold] = err != nil
	c.fence = max(c.fence, c.hold.Fence())
	return err
}

// release releases the newest hold.
func (c *matrixCell) release(ctx context.Context) error {
	lock := c.hold
	c.hold = nil
	if lock == nil {
		lock = c.unreleased
	}
	c.fence = max(c.fence, lock.Fence())
	err := lock.Release(ctx)
	if c.unreleased, c.kept = nil, err != nil; err != nil {
		c.unreleased = lock
	}
	return err
}

// renewal waits until the watchdog has renewed once more.
func (c *matrixCell) renewal() error {
	before := c.wire.answeredOf("refresh")
	for range 280 {
		c.sleep(250 * time.Millisecond)
		if c.wire.answeredOf("refresh") > before {
			return nil
		}
	}
	return errors.New("nothing was renewed")
}

// matrixIntent is how an Obtain waits that declares intents: longer than a cell looks.
func matrixIntent() backoff.BackOff { return backoff.NewConstantBackOff(90 * time.Second) }
