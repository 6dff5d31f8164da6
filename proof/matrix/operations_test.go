package matrix_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock"
)

// The leases of the matrix. A guard lives for 300 s, which is longer than a cell lasts.
const (
	firstTTL  = 60 * time.Second  // of the first hold
	nextTTL   = 120 * time.Second // of those after it
	shortTTL  = 20 * time.Second
	middleTTL = 90 * time.Second
	longTTL   = 180 * time.Second
)

// leaveTTL is for how long a Leave leaves keys.
const leaveTTL = 5 * time.Second

// An operation is what may follow a late request.
type operation struct {
	name string
	run  func(ctx context.Context, c *cell) error
	// lessens says that other holds of the token cannot count on their keys any more.
	lessens bool
	// frees says that its releases are no clean-ups.
	frees bool
	// next says that it obtains, and that what is held is released before.
	next bool
}

// operations by code.
var operations = map[byte]*operation{
	's': {name: "Refresh, shorter", lessens: true, run: func(ctx context.Context, c *cell) error {
		return c.hold.Refresh(ctx, shortTTL)
	}},
	'l': {name: "Refresh, longer", run: func(ctx context.Context, c *cell) error {
		return c.hold.Refresh(ctx, longTTL)
	}},
	'n': {name: "renewal", run: func(_ context.Context, c *cell) error { return c.renewal() }},
	'd': {name: "Downgrade", lessens: true, run: func(ctx context.Context, c *cell) error {
		return c.converts(c.hold.Downgrade(ctx), nil)
	}},
	'u': {name: "Upgrade", lessens: true, run: func(ctx context.Context, c *cell) error {
		return c.converts(c.hold.Upgrade(ctx), c.hold.Keys())
	}},
	'f': {name: "ReleaseKeys, first", lessens: true, frees: true, run: func(ctx context.Context, c *cell) error {
		return c.hold.ReleaseKeys(ctx, []string{c.hold.Keys()[0]})
	}},
	'o': {name: "ReleaseKeys, last", lessens: true, frees: true, run: func(ctx context.Context, c *cell) error {
		keys := c.hold.Keys()
		return c.hold.ReleaseKeys(ctx, []string{keys[len(keys)-1]})
	}},
	'b': {name: "RaiseFence", run: func(ctx context.Context, c *cell) error {
		return c.hold.RaiseFence(ctx, c.hold.Fence()+1000)
	}},
	't': {name: "Refresh of an attached lock", run: func(ctx context.Context, c *cell) error {
		return c.second().Attach(c.hold.Keys(), c.token).Refresh(ctx, longTTL)
	}},
	'h': {name: "Refresh of an attached lock, less long", run: func(ctx context.Context, c *cell) error {
		return c.second().Attach(c.hold.Keys(), c.token).Refresh(ctx, middleTTL)
	}},
	'a': {name: "Obtain while it is held", run: func(ctx context.Context, c *cell) error {
		keys := c.hold.Keys()
		return c.takes(c.by().Obtain(ctx, []string{keys[len(keys)-1], keys[0]}, shortTTL, c.options()))
	}},
	'r': {name: "Release", lessens: true, frees: true, run: func(ctx context.Context, c *cell) error {
		return c.release(ctx)
	}},
	'z': {name: "Release of an attached lock", lessens: true, frees: true, run: func(ctx context.Context, c *cell) error {
		keys := c.hold.Keys()
		c.older, c.hold = append(c.older, c.hold), nil
		c.forgetOlder()
		return c.second().Attach(keys, c.token).Release(ctx)
	}},
	'L': {name: "Leave", lessens: true, frees: true, run: func(ctx context.Context, c *cell) error {
		return c.leave(ctx)
	}},
	'K': {name: "Break", lessens: true, run: func(ctx context.Context, c *cell) error {
		return c.breaks(ctx, c.second())
	}},
	'W': {name: "Obtain", next: true, run: func(ctx context.Context, c *cell) error {
		return c.takes(c.by().Obtain(ctx, c.keys, nextTTL, c.options()))
	}},
	'X': {name: "Obtain, other order", next: true, run: func(ctx context.Context, c *cell) error {
		n := len(c.keys)
		return c.takes(c.by().Obtain(ctx, []string{c.keys[n-1], c.keys[0], c.keys[n/2]}, nextTTL, c.options()))
	}},
	'R': {name: "ObtainRead", next: true, run: func(ctx context.Context, c *cell) error {
		return c.takesToRead(c.by().ObtainRead(ctx, c.keys, nextTTL, c.options()))
	}},
	'M': {name: "ObtainSet", next: true, run: func(ctx context.Context, c *cell) error {
		return c.takesMixed(c.by().ObtainSet(ctx, redislock.Set{Write: c.keys[1:2], Read: c.keys}, nextTTL, c.options()))
	}},
}

// An obtainer is a Client or an Owner.
type obtainer interface {
	Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (*redislock.Lock, error)
	ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (*redislock.Lock, error)
	ObtainSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options) (*redislock.Lock, error)
}

// by is who obtains the holds: the owner of the token, or the Client where each hold has a token of its own.
func (c *cell) by() obtainer {
	if c.token == "" {
		return c.main
	}
	return c.main.As(c.token)
}

// options are those of every Obtain of the cell.
func (c *cell) options() *redislock.Options {
	opt := &redislock.Options{Watchdog: true, Fenced: c.row.fenced}
	if c.row.code == 'L' { // it may just have left the keys
		opt.RetryStrategy = redislock.LinearBackoff(500 * time.Millisecond)
	}
	if c.row.generated {
		opt.RetryStrategy = redislock.LinearBackoff(100 * time.Millisecond) // another hold is another owner
		opt.Metadata = fmt.Sprint("obtain ", c.obtains.Add(1))              // by which it is recognised
	}
	return opt
}

// takes makes a lock that writes all its keys the newest hold.
func (c *cell) takes(lock *redislock.Lock, err error) error {
	if err != nil {
		return err
	}
	if c.hold != nil {
		c.older = append(c.older, c.hold)
	} else if c.row.fenced && lock.Fence() <= c.fence && !c.kept {
		c.fault("the fencing number is %d after %d", lock.Fence(), c.fence)
	}
	c.hold, c.kept = lock, false
	c.writes[lock] = lock.Keys()
	c.fence = max(c.fence, lock.Fence())
	return nil
}

// takesToRead makes a lock that reads all its keys the newest hold.
func (c *cell) takesToRead(lock *redislock.Lock, err error) error {
	if err = c.takes(lock, err); err == nil {
		c.writes[lock] = nil
	}
	return err
}

// takesMixed makes a lock that writes one of its keys the newest hold.
func (c *cell) takesMixed(lock *redislock.Lock, err error) error {
	if err = c.takes(lock, err); err == nil {
		c.writes[lock] = lock.Keys()[:1]
	}
	return err
}

// converts takes note of the modes that the newest hold has, or that they are not known.
func (c *cell) converts(err error, writes []string) error {
	if c.unknown[c.hold] = err != nil; err == nil {
		c.writes[c.hold] = writes
	}
	c.fence = max(c.fence, c.hold.Fence())
	return err
}

// release releases the newest hold.
func (c *cell) release(ctx context.Context) error {
	lock := c.hold
	c.hold = nil
	if lock == nil {
		lock = c.unreleased
	}
	c.fence = max(c.fence, lock.Fence())
	return c.ended(lock, lock.Release(ctx))
}

// leave has the newest hold leave its keys.
func (c *cell) leave(ctx context.Context) error {
	lock, began := c.hold, time.Now()
	c.hold, c.fence = nil, max(c.fence, c.hold.Fence())
	err := lock.Leave(ctx, leaveTTL)
	if err == nil {
		c.leaving.keys, c.leaving.metadata = lock.Keys(), lock.Metadata()
		c.leaving.from, c.leaving.till = began.Add(leaveTTL), time.Now().Add(leaveTTL)
	}
	return c.ended(lock, err)
}

// breaks has a Client take the keys from the newest hold.
func (c *cell) breaks(ctx context.Context, by *redislock.Client) error {
	keys := c.hold.Keys()
	_, err := by.Break(ctx, keys, "for a test")
	if err == nil && c.reader != nil && slices.Contains(keys, c.keys[0]) {
		c.gone, c.reader = append(c.gone, c.reader), nil
	}
	if err == nil { // else it has changed nothing, and will not
		c.fence = max(c.fence, c.hold.Fence())
		c.gone, c.hold = append(c.gone, c.hold), nil
	}
	return err
}

// ended takes note of a lock that was released, or of a Release that was not answered.
func (c *cell) ended(lock *redislock.Lock, err error) error {
	if c.unreleased, c.kept = nil, err != nil; err != nil {
		c.unreleased = lock
	}
	return err
}

// renewal waits until the watchdog has renewed once more.
func (c *cell) renewal() error {
	before := c.network.answeredOf("refresh")
	for range 280 {
		c.sleep(250 * time.Millisecond)
		if c.network.answeredOf("refresh") > before {
			return nil
		}
	}
	return errors.New("nothing was renewed")
}

// waitsLong is how an Obtain waits that declares intents: longer than a cell looks.
func waitsLong() redislock.BackOff { return backoff.NewConstantBackOff(90 * time.Second) }
