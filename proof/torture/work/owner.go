package work

import (
	"context"

	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/reentrant"
)

// nested obtains locks, and obtains some of their keys and others again as the same owner. Another caller may be the same
// owner, too.
func nested(ctx context.Context, c *caller) {
	owned, shared := reentrant.NewOwner(ctx), random.Chance(c.rng, 30)
	if shared {
		owned = c.pair.own(ctx)
		defer c.pair.disown()
	}
	group := c.groups[c.rng.IntN(len(c.groups))]
	renews, fenced := random.Chance(c.rng, 40), random.Chance(c.rng, 30)
	var holds []*hold
	for depth := range 1 + c.rng.IntN(3) {
		r := c.want(c.some(group, 2))
		r.pkg, r.by, r.owner = history.Reentrant, again{c.clients[0]}, inctx.Caller(owned)
		r.events = "owner-" + r.owner // because the lock of one may be the lock of all
		r.told = []told{byContext, byChannel}[c.rng.IntN(2)]
		r.opt.Watchdog, r.opt.Fenced = renews, fenced
		if depth == 0 {
			c.waits(r, c.anyWay())
		}
		if !shared && random.Chance(c.rng, 20) {
			c.with(owned, r, func(ctx context.Context, h *hold) { h.work(ctx) })
			continue
		}
		h := c.obtain(owned, r)
		if h == nil {
			break
		}
		h.others()
		holds = append(holds, h)
		if random.Chance(c.rng, 20) {
			h.refresh(c.lease())
			h.others()
		}
		if random.Chance(c.rng, 10) {
			h.remaining()
		}
		h.workLong(ctx)
	}
	for _, i := range c.rng.Perm(len(holds)) {
		holds[i].release()
		c.work(ctx)
	}
	if !shared {
		reentrant.CheckReleased(complainer{c}, owned)
	}
}

// others writes down which deadlines of the same owner an operation has moved.
func (h *hold) others() {
	for _, other := range h.holds.named(h.name()) {
		other.renewed()
	}
}

// complainer has what a test would fail for be a complaint.
type complainer struct{ *caller }

func (complainer) Helper() {}

func (c complainer) Errorf(format string, args ...any) { c.complain(format, args...) }
