package work

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// This file is the workloads in which locks are held for long, so that many wait, or many locks are held at once.

// line obtains one or two keys that everybody wants, and holds them for so long that the others stand in line for a while. Its
// leases are long, because a waiter asks by itself when that of the holder is over.
func line(ctx context.Context, c *caller) {
	keys := c.groups[0][:2]
	if !random.Chance(c.rng, 10) {
		keys = c.some(keys, 1)
	}
	r := &request{write: keys, ttl: 8 * ShortLease, by: plain(c)}
	if longest := c.Target.MinUptime; longest > 0 { // a Client with it refuses what is longer
		r.ttl = min(r.ttl, longest)
	}
	if h := c.obtain(ctx, c.waits(r, history.Queue)); h != nil {
		pace.Sleep(ctx, random.Between(c.rng, ShortLease/4, ShortLease*3/4))
		h.release()
	}
}

// watched holds locks for several leases, which are renewed meanwhile.
func watched(ctx context.Context, c *caller) {
	r := c.tell(c.waits(c.want(c.keys()[:1]), history.Once))
	r.opt.Watchdog, r.ttl = true, ShortLease
	if h := c.obtain(ctx, r); h != nil {
		pace.Sleep(ctx, random.Between(c.rng, 2*ShortLease, 6*ShortLease))
		h.release()
	}
}

// crowd obtains many sets at the same time that nobody else wants, so that many calls travel together, and holds them for a
// while, so that they are there when the process is killed.
func crowd(ctx context.Context, c *caller) {
	var all sync.WaitGroup
	for i := range 6 {
		number := c.number*10 + i
		one := &caller{process: c.process, number: number, pair: c.pair, rng: rand.New(rand.NewPCG(c.rng.Uint64(), uint64(number)))}
		all.Go(func() {
			var own []string
			for _, key := range one.keys() {
				own = append(own, ownKey(key, c.Process, number))
			}
			r := &request{write: own, ttl: ShortLease, way: history.Once, by: plain(c)}
			if h := one.obtain(ctx, r); h != nil {
				pace.Sleep(ctx, random.Between(one.rng, 0, ShortLease/3))
				h.release()
			}
		})
	}
	all.Wait()
	pace.Sleep(ctx, time.Millisecond)
}
