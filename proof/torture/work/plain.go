package work

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// linear obtains sets whose leases do not end, and changes them.
func linear(queues bool) func(context.Context, *caller) {
	return func(ctx context.Context, c *caller) {
		way := history.Once
		if queues && random.Chance(c.rng, 50) {
			way = history.Queue
		}
		if h := c.obtain(ctx, c.waits(c.want(c.keys()), way)); h != nil {
			h.change(ctx)
			h.release()
		}
	}
}

// sets obtains sets in every way, watched or not.
func sets(ctx context.Context, c *caller) {
	r := c.waits(c.want(c.keys()), c.anyWay())
	if random.Chance(c.rng, 50) {
		c.tell(r)
	}
	h := c.obtain(ctx, r)
	if h == nil {
		return
	}
	h.change(ctx)
	if h.told == byNobody && r.ttl < LongLease && random.Chance(c.rng, 1) {
		h.end() // the caller forgets it; the lease ends by itself
		return
	}
	h.release()
}

// queue obtains sets in line. Most callers want the same few keys, and hold them for so long that others wait for a while.
func queue(ctx context.Context, c *caller) {
	keys := c.keys()
	if random.Chance(c.rng, 80) {
		group := c.groups[0]
		keys = c.some(group[:min(2, len(group))], 2)
	}
	r := c.waits(c.want(keys), history.Queue)
	if random.Chance(c.rng, 30) {
		c.tell(r)
	}
	if h := c.obtain(ctx, r); h != nil {
		pace.Sleep(ctx, random.Between(c.rng, 30*time.Millisecond, 150*time.Millisecond))
		h.release()
	}
}

// everything does what the other loads of package redislock do, but for Breaks, which end so many windows that little is
// left to be compared.
func everything(ctx context.Context, c *caller) {
	steps := []func(context.Context, *caller){sets, queue, watchdog, overrun, fenced, tokens, endings}
	steps[c.rng.IntN(len(steps))](ctx, c)
}

// change makes up to three operations on a lock that is held, and works between them.
func (h *hold) change(ctx context.Context) {
	h.work(ctx)
	for range h.rng.IntN(4) {
		if ctx.Err() != nil || !h.changeOnce() {
			return
		}
		h.work(ctx)
	}
}

func (h *hold) changeOnce() bool {
	switch h.rng.IntN(6) {
	case 0:
		return h.refresh(h.lease())
	case 1:
		return h.upgrade()
	case 2:
		return h.downgrade()
	case 3:
		return h.releaseKeys()
	case 4:
		if h.load.Endless {
			return true
		}
		return h.remaining()
	}
	return true
}
