package work

import (
	"context"
	"strconv"
	"time"

	"github.com/seed-14de3678/redislock/fencing"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// memory is for how long a resource remembers the number that it was last written with: longer than a round.
const memory = time.Hour

// fenced obtains locks with fencing numbers, and writes with them to what all processes share.
func fenced(ctx context.Context, c *caller) {
	r := c.waits(c.want(c.keys()), c.anyWay())
	r.opt.Fenced = true
	overruns := random.Chance(c.rng, 20)
	if overruns {
		r.ttl = random.Between(c.rng, ShortLease/6, ShortLease/2)
	}
	if random.Chance(c.rng, 50) {
		c.tell(r)
	}
	h := c.obtain(ctx, r)
	if h == nil {
		return
	}
	h.enters()
	switch n := c.rng.IntN(4); {
	case overruns:
		pace.Sleep(ctx, random.Between(c.rng, 0, r.ttl*3/2)) // so that it comes too late, perhaps
		h.enters()
	case n == 0:
		if h.upgrade() {
			h.enters()
		}
	case n == 1:
		if h.raise() {
			h.enters()
		}
	case n == 2:
		h.change(ctx)
		h.enters()
	default:
		h.work(ctx)
		h.enters()
	}
	h.release()
	if random.Chance(c.rng, 20) {
		h.enters()
	}
}

// enters writes to the resource of each key that the lock writes.
func (h *hold) enters() {
	number := h.lock.(held.Fenced).Fence()
	for _, key := range h.write {
		ctx, over := h.ending()
		e := history.Event{Action: history.Enter, Lock: h.op, Package: h.pkg, Write: []string{key}, Fence: number}
		_ = h.ask(ctx, e, func() error {
			return fencing.Set(ctx, h.resource, "resource:"+key, number, strconv.Itoa(h.op), memory)
		})
		over()
	}
}

// raise has the lock have a number that was given elsewhere.
func (h *hold) raise() bool {
	number := h.plain().Fence() + h.rng.Int64N(1000)
	ctx, over := h.ending()
	defer over()
	e := history.Event{Action: history.RaiseFence, Fence: number}
	return h.do(ctx, e, false, func() error { return h.plain().RaiseFence(ctx, number) }) == nil
}
