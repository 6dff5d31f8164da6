package work

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// This file is the workloads of packages multi and quorum.

// parts puts keys into sets that each can be obtained in one step. Every key has a server of its own if there are several.
func (c *caller) parts(write, read []string) []multi.Part {
	if len(c.clients) == 1 {
		return multi.BySlot(c.clients[0], redislock.Set{Write: write, Read: read})
	}
	var all []multi.Part
	for i, client := range c.clients {
		here := func(key string) bool { return slices.Index(c.Keys, key)%len(c.clients) == i }
		p := multi.Part{
			Client: client, Place: c.Target.Addrs[i], Set: redislock.Set{Write: filter(write, here), Read: filter(read, here)},
		}
		if len(p.Write)+len(p.Read) > 0 {
			all = append(all, p)
		}
	}
	return all
}

// parted obtains keys that cannot be one set.
func parted(ctx context.Context, c *caller) {
	r := c.want(c.some(c.Keys, 4))
	r.pkg = history.Multi
	r.by = several{multi.Client{Hooks: c.hooks(wholes)}, c.parts}
	switch c.rng.IntN(3) {
	case 0:
		c.waits(r, history.Once)
	case 1:
		c.waits(r, history.Poll)
	default:
		c.waits(r, history.Queue)
		r.opt.Watchdog = true
	}
	c.holdWhole(ctx, r)
}

// majorities obtains locks at several servers.
func majorities(ctx context.Context, c *caller) {
	r := c.want(c.keys())
	r.pkg, r.by = history.Quorum, majority(c)
	r.ttl = ShortLease * time.Duration(2+c.rng.IntN(2)) // a node has a quarter of that to answer, also on a busy machine
	c.waits(r, history.Once)
	if random.Chance(c.rng, 70) {
		c.waits(r, history.Poll)
	}
	r.opt.Fenced = random.Chance(c.rng, 40)
	if random.Chance(c.rng, 10) {
		c.attachedWhole(ctx, r)
		return
	}
	c.holdWhole(ctx, r)
}

// holdWhole obtains a lock that has parts, and does with it what can be done with one.
func (c *caller) holdWhole(ctx context.Context, r *request) {
	card := c.deal()
	if card&mixedSet != 0 {
		r.mix()
	}
	if card&underToken != 0 {
		r.token = c.ownToken()
	}
	r.opt.Watchdog = r.opt.Watchdog || random.Chance(c.rng, 40)
	if random.Chance(c.rng, 20) {
		r.opt.HoldAtLeast = random.Between(c.rng, time.Millisecond, 100*time.Millisecond)
	}
	if card&byCallback != 0 {
		c.with(ctx, r, func(ctx context.Context, h *hold) { h.useWhole(ctx, r) })
		return
	}
	if random.Chance(c.rng, 60) {
		r.told = []told{byContext, byChannel, byHook}[c.rng.IntN(3)]
	}
	if h := c.obtain(ctx, r); h != nil {
		h.useWhole(ctx, r)
		if h.ended() {
			return
		}
		h.release()
	}
}

// attachedWhole obtains a lock under a token of its own, and ends it by another handle.
func (c *caller) attachedWhole(ctx context.Context, r *request) {
	r.token = c.ownToken()
	h := c.obtain(ctx, r)
	if h == nil {
		return
	}
	h.work(ctx)
	other := c.attach(r.pkg, slices.Concat(h.write, h.read), r.token)
	if other.remaining() && other.refresh(r.ttl) {
		other.work(ctx)
	}
	other.release()
	h.end()
}

// ownToken is a token that nobody else has.
func (c *caller) ownToken() string {
	return fmt.Sprintf("own-%d-%d-%d-%d", c.Seed, c.Process, c.number, c.ops.Load())
}

// useWhole works with such a lock, and ends it in some cases.
func (h *hold) useWhole(ctx context.Context, r *request) {
	if r.opt.Fenced {
		h.enters()
	}
	h.workLong(ctx)
	for range h.rng.IntN(3) {
		use := h.remaining
		if random.Chance(h.rng, 50) {
			use = func() bool { return h.refresh(r.ttl) }
		}
		if !use() || ctx.Err() != nil {
			return
		}
		h.work(ctx)
	}
	if r.opt.Fenced {
		h.enters()
	}
	switch h.rng.IntN(10) {
	case 0:
		h.leave(random.Between(h.rng, time.Millisecond, 100*time.Millisecond))
	case 1:
		h.release()
	}
}
