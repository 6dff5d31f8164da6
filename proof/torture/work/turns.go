package work

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// This file is the workloads in which many callers of one Client want the same set, so that its Releases give their keys to the
// next of them, and how it is seen that they do.

// turnLease is longer than what a checker takes for late, so that it is certain who stood in line.
const turnLease = 5 * ShortLease

// turns obtains one of three sets that everybody wants, fenced or not, and holds it for a moment.
func turns(ctx context.Context, c *caller) {
	r := c.turn()
	r.named = true
	r.opt.Fenced = random.Chance(c.rng, 30)
	r.opt.Watchdog = random.Chance(c.rng, 20)
	c.takesTurn(ctx, r)
}

// passOn does the same with holds that are passed on. Some callers ask for something else than the others, so that a hold is not
// passed on to them.
func passOn(ctx context.Context, c *caller) {
	r := c.turn()
	longest := r.ttl / 2
	all := []time.Duration{5 * time.Millisecond, 40 * time.Millisecond, longest / 8, longest}
	r.opt.PassOn = min(longest, all[(c.Seed+uint64(c.Process))%uint64(len(all))])
	r.opt.Fenced = c.Process%3 != 0 // as all of its Client, which would not stand behind one another else
	switch n := c.rng.IntN(100); {
	case n < 6:
		r.opt.PassOn, r.named = 0, true
	case n < 10:
		r.opt.PassOn, r.named = r.opt.PassOn/2, true
	case n < 14:
		r.opt.Watchdog, r.named = true, true
	}
	// A hold with a watchdog lasts for as long as it is passed on.
	if c.Process%2 == 0 && !r.named {
		r.opt.Watchdog = true
	}
	c.takesTurn(ctx, r)
}

// turn is a request in line for one of the sets that everybody wants.
func (c *caller) turn() *request {
	keys := c.groups[0][:2]
	r := &request{write: keys[:1], ttl: turnLease, by: plain(c)}
	switch n := c.rng.IntN(100); {
	case n < 10:
		r.write = keys
	case n < 25:
		r.write = keys[1:]
	}
	if longest := c.Target.MinUptime; longest > 0 { // a Client with it refuses what is longer
		r.ttl = min(r.ttl, longest)
	}
	if random.Chance(c.rng, 20) {
		c.tell(r)
	}
	return c.waits(r, history.Queue)
}

// takesTurn obtains a lock, and holds it for a moment. Some ask the holder's questions, after which nothing is passed on.
func (c *caller) takesTurn(ctx context.Context, r *request) {
	h := c.obtain(ctx, r)
	if h == nil {
		return
	}
	pace.Sleep(ctx, random.Between(c.rng, 0, 15*time.Millisecond))
	switch n := c.rng.IntN(100); {
	case n < 3:
		h.refresh(r.ttl)
	case n < 6:
		h.remaining()
	}
	h.release()
}

// given are the obtains of a process to which a Release has given its keys, by their Metadata, as seen in what its Redis clients
// send.
type given struct {
	mu  sync.Mutex
	all map[string]bool
}

// see takes note of a Release that was answered and has given its keys to somebody.
func (g *given) see(cmd redis.Cmder) {
	sent, is := cmd.(interface{ Val() any }) // those of a Client have a type of their own
	if !is {
		return
	}
	reply := sent.Val()
	if all, is := reply.([]any); is && len(all) > 0 {
		reply = all[0]
	}
	if reply != any(int64(proto.Given)) {
		return
	}
	call, is := decode.Command(decode.Words(cmd.Args())...)
	if !is || call.Next == nil {
		return
	}
	_, _, name := proto.DecodeValue(*call.Next.Value)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = map[string]bool{}
	}
	g.all[name] = true
}

// has reports whether a Release has given its keys to the obtain of that name.
func (g *given) has(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all[name]
}
