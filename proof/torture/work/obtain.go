package work

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A request is what a caller asks for.
type request struct {
	pkg         history.Package
	write, read []string
	way         history.Way
	ttl         time.Duration
	opt         redislock.Options
	token       string // of the caller's choice; empty: the lock has one of its own
	owner       string // of package reentrant
	name        string // in its Call
	named       bool   // its Metadata names it, so that it is seen if its lock is carried
	events      string // the name that its events have; empty: one of its own
	told        told
	patience    time.Duration // after which the caller cancels; 0: it waits for WaitLimit
	by          locker
}

// want makes a request for write locks, read locks, or both.
func (c *caller) want(keys []string) *request {
	r := &request{ttl: c.lease(), way: history.Once, by: plain(c)}
	switch writes := c.rng.IntN(4); {
	case writes == 0:
		r.read = keys
	case writes == 1 && len(keys) > 1:
		n := 1 + c.rng.IntN(len(keys)-1)
		r.write, r.read = keys[:n], keys[n:]
	default:
		r.write = keys
	}
	return r
}

// mix has the request want one key to be written, and the others to be read.
func (r *request) mix() {
	if keys := slices.Concat(r.write, r.read); len(keys) > 1 {
		r.write, r.read = keys[:1], keys[1:]
	}
}

// set is all keys of a request.
func (r *request) set() redislock.Set { return redislock.Set{Write: r.write, Read: r.read} }

// waits has the request wait in this way.
func (c *caller) waits(r *request, way history.Way) *request {
	r.way, r.opt.Queue, r.opt.Intent = way, way == history.Queue, way == history.Intent
	switch n := c.rng.IntN(3); {
	case way == history.Once:
	case way == history.Poll && n == 0:
		r.opt.RetryStrategy = redislock.LimitRetry(redislock.LinearBackoff(20*time.Millisecond), 1+c.rng.IntN(8))
	case way == history.Queue && n == 0: // without a strategy
	case n == 1:
		r.opt.RetryStrategy = redislock.LinearBackoff(random.Between(c.rng, 20*time.Millisecond, 60*time.Millisecond))
	default:
		r.opt.RetryStrategy = redislock.ExponentialBackoff(5*time.Millisecond, 200*time.Millisecond)
	}
	return r
}

// anyWay is a way to wait.
func (c *caller) anyWay() history.Way {
	return []history.Way{history.Once, history.Poll, history.Intent, history.Queue}[c.rng.IntN(4)]
}

// tell has the caller learn of a loss.
func (c *caller) tell(r *request) *request {
	r.told = []told{byContext, byChannel, byHook}[c.rng.IntN(3)]
	return r
}

// bound decides for how long a request waits at most: as its Wait says, or until the caller has had enough.
func (c *caller) bound(r *request) {
	switch short := random.Between(c.rng, 0, 300*time.Millisecond); {
	case c.load.gentle:
		r.opt.Wait = lineWait
	case r.way != history.Once && random.Chance(c.rng, 10):
		r.opt.Wait = max(short, time.Millisecond)
	case random.Chance(c.rng, c.load.rough()):
		r.patience = max(short/20, time.Microsecond)
	case r.way != history.Once && random.Chance(c.rng, 10):
		r.patience = max(short, time.Millisecond)
	case random.Chance(c.rng, 50):
		r.opt.Wait = WaitLimit
	default:
		r.patience = WaitLimit
	}
}

// obtain makes the request, and returns what was obtained; nil if nothing was.
func (c *caller) obtain(ctx context.Context, r *request) *hold {
	c.bound(r)
	h := c.asks(r)
	over := func() {}
	if r.patience > 0 {
		ctx, over = brief(ctx, r.patience)
	}
	defer over()
	lock, err := r.by.obtain(ctx, r)
	if err != nil {
		h.refused(ctx, err)
		return nil
	}
	h.begin(lock)
	return h
}

// asks writes the Call of a request.
func (c *caller) asks(r *request) *hold {
	h := &hold{
		caller: c, pkg: r.pkg, way: r.way, write: r.write, read: r.read, longest: r.ttl, renews: r.opt.Watchdog, told: r.told,
		whole: r.by.whole(), events: r.events,
	}
	h.op = c.call(history.Event{
		Action: history.Obtain, Package: r.pkg, Write: r.write, Read: r.read, Way: r.way, TTL: r.ttl,
		Wait: r.opt.Wait + r.patience, Fenced: r.opt.Fenced, Token: r.token, Owner: r.owner, Kept: r.opt.HoldAtLeast,
		Name: r.name, PassOn: r.opt.PassOn, Local: c.isLocal(r),
	})
	if r.opt.Name = h.name(); r.named {
		r.opt.Metadata = h.name()
	}
	c.holds.add(h)
	return h
}

// isLocal reports whether a request that queues stands in the line of its Client first.
func (c *caller) isLocal(r *request) bool {
	return r.pkg == history.Plain && r.way == history.Queue && r.token == "" && len(r.write) > 0 &&
		c.Target.Replicas == 0 && c.Target.MinUptime == 0
}

// refused writes the Return of an obtain that has failed.
func (h *hold) refused(ctx context.Context, err error) {
	e := history.Event{Kind: history.Return, Op: h.op, Action: history.Obtain}
	describe(ctx, &e, err)
	h.add(e)
	h.holds.drop(h)
}

// with makes the request, and runs fn while its lock is held. The lock is renewed, and is released when fn has returned,
// which may do so itself.
func (c *caller) with(ctx context.Context, r *request, fn func(context.Context, *hold)) {
	r.told, r.opt.Watchdog = byWith, true
	c.bound(r)
	r.name = "with"
	h := c.asks(r)
	over := func() {}
	if r.patience > 0 {
		ctx, over = brief(ctx, r.patience)
	}
	defer over()
	ran, release := false, history.Event{Action: history.Release}
	err := caught(func() error {
		return r.by.with(ctx, r, func(ctx context.Context) error {
			ran = true
			h.begin(held.FromContext(ctx))
			h.hear(ctx)
			fn(ctx, h)
			if !h.ended() {
				release = h.calls(release, true)
			}
			if random.Chance(c.rng, 5) {
				panic(errWork)
			}
			return errWork
		})
	})
	switch {
	case !ran:
		h.refused(ctx, err)
		return
	case release.Op == 0: // fn has ended it
	case errors.Is(err, redislock.ErrLockLost):
		h.returns(ctx, release, err)
	default:
		h.returns(ctx, release, h.lastReleased())
	}
	if !errors.Is(err, errWork) {
		c.complain("With has not returned the error of its function, but %v", err)
	}
	h.end()
}

// caught is what fn returns, or the error with which it panics.
func caught(fn func() error) (err error) {
	defer func() {
		if v := recover(); v == errWork { //nolint:errorlint // it is this value
			err = errWork
		} else if v != nil {
			panic(v)
		}
	}()
	return fn()
}

// errWork is what the functions return that a lock is held for.
var errWork = errors.New("work done")
