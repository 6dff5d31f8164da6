package work

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// watchdog holds locks for longer than one lease, which is renewed meanwhile, with With and without it.
func watchdog(ctx context.Context, c *caller) {
	r := c.waits(c.want(c.keys()), c.anyWay())
	r.opt.Watchdog = true
	if random.Chance(c.rng, 50) {
		c.with(ctx, r, func(ctx context.Context, h *hold) {
			h.workLong(ctx)
			if random.Chance(h.rng, 10) {
				h.leave(random.Between(h.rng, time.Millisecond, 100*time.Millisecond))
			} else if random.Chance(h.rng, 10) {
				h.release()
			}
		})
		return
	}
	if h := c.obtain(ctx, c.tell(r)); h != nil {
		h.workLong(ctx)
		if random.Chance(h.rng, 30) {
			h.refresh(h.lease())
			h.workLong(ctx)
		}
		h.release()
	}
}

// workLong works for a moment, or for longer than a lease; not much longer if the process is to end.
func (h *hold) workLong(ctx context.Context) {
	if random.Chance(h.rng, 85) {
		h.work(ctx)
		return
	}
	pace.Sleep(ctx, random.Between(h.rng, ShortLease, 2*ShortLease))
}

// overrun holds locks for so long that the lease of many ends before, told of it or not, and goes on as if it had not.
func overrun(ctx context.Context, c *caller) {
	r := c.waits(c.want(c.keys()), c.anyWay())
	r.ttl = random.Between(c.rng, ShortLease/6, ShortLease/2)
	if random.Chance(c.rng, 50) {
		c.tell(r)
	}
	h := c.obtain(ctx, r)
	if h == nil {
		return
	}
	for range 1 + c.rng.IntN(3) {
		pace.Sleep(ctx, random.Between(c.rng, 0, r.ttl*3/2))
		if ctx.Err() != nil {
			break
		}
		if random.Chance(c.rng, 30) {
			h.refresh(r.ttl) // perhaps somebody else has the keys
		} else {
			h.changeOnce()
		}
	}
	h.release()
}

// endings leaves keys taken, after a Leave or because they were obtained with HoldAtLeast.
func endings(ctx context.Context, c *caller) {
	r := c.waits(c.want(c.keys()), c.anyWay())
	if random.Chance(c.rng, 50) {
		r.opt.HoldAtLeast = random.Between(c.rng, time.Millisecond, 200*time.Millisecond)
	}
	if random.Chance(c.rng, 50) {
		c.tell(r)
	}
	h := c.obtain(ctx, r)
	if h == nil {
		return
	}
	h.work(ctx)
	switch n := c.rng.IntN(3); {
	case n == 0 && h.releaseKeys():
		h.release()
	case n == 1:
		h.release()
	default:
		h.leave(random.Between(c.rng, time.Millisecond, 200*time.Millisecond))
	}
}

// breaking breaks the locks of others, and holds locks that others break.
func breaking(ctx context.Context, c *caller) {
	switch n := c.rng.IntN(20); {
	case n < 3:
		c.breaks()
		return
	case n < 5:
		c.inspect()
		return
	}
	r := c.tell(c.waits(c.want(c.keys()), c.anyWay()))
	r.opt.Watchdog = random.Chance(c.rng, 60)
	if h := c.obtain(ctx, r); h != nil {
		h.work(ctx)
		h.change(ctx)
		h.release()
	}
}

// breaks takes some keys from whoever holds them.
func (c *caller) breaks() {
	ctx, over := c.ending()
	defer over()
	keys := c.keys()
	_ = c.ask(ctx, history.Event{Action: history.Break, Write: keys}, func() error {
		_, err := c.clients[0].Break(ctx, keys, "a caller wants to")
		return err
	})
}

// inspect looks who holds the keys.
func (c *caller) inspect() {
	ctx, over := c.ending()
	defer over()
	_ = c.ask(ctx, history.Event{Action: history.Inspect, Write: c.Keys}, func() error {
		_, err := c.clients[0].Inspect(ctx, c.Keys)
		return err
	})
}
