package world

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// MostShift is how far a clock is set ahead or back at most. Leases of holders that have died last so much longer at most.
const MostShift = 2 * time.Second

// A hostClock is the wall clock of one server, and the pace of its disk.
type hostClock struct {
	clock *redistest.Clock

	mu      sync.Mutex
	ahead   time.Duration // under mu; of the true time
	highest time.Duration // under mu; the most that ahead has ever been
}

// set puts the clock so far ahead of the true time.
func (c *hostClock) set(ahead time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = ahead
	c.highest = max(c.highest, ahead)
	c.clock.Shift(ahead)
}

// most is how far it has ever been ahead.
func (c *hostClock) most() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.highest
}

// now is how far the clock is ahead of the true time.
func (c *hostClock) now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead
}

// forget says that a server is about to lose fencing numbers. Those that it gives next are greater all the same, unless its
// clock has gone back since: so the clock is set to where it has been before.
func (w *world) forget(h *host) {
	hosts := w.alike(h)
	highest := time.Duration(0)
	for _, h := range hosts {
		highest = max(highest, h.clock.most())
	}
	for _, h := range hosts {
		h.clock.set(highest)
	}
}

// alike are those servers with a clock whose clocks are never set apart, because they have the same keys. A replica that is
// ahead of its primary is a fault of its own.
func (w *world) alike(h *host) []*host {
	switch {
	case h.clock == nil:
		return nil
	case h.replicated:
		return w.hosts
	}
	return []*host{h}
}

// clockFaults are the nemeses of wall clocks: see the README, docs/choosing.md and package quorum.
func (w *world) clockFaults() []Nemesis {
	if w.hosts[0].clock == nil {
		return nil
	}
	ahead := lost()
	if w.quorum() {
		ahead = append(ahead, check.Fencing) // together with a server that loses its numbers
	}
	return []Nemesis{
		w.onServer("clock-ahead", ahead, w.clockAhead),
		// Leases last longer, which harms nobody. A clock that was set back stays so, because to set it right would be a jump
		// ahead: see Left.
		w.onServer("clock-back", nil, w.clockBack),
		// Lock.Deadline allows for 1 % of the ttl.
		w.onServer("clock-fast", nil, w.clockFast),
	}
}

// clockAhead has the clock jump ahead, and back in the end.
func (w *world) clockAhead(h *host, rng *rand.Rand, d time.Duration) error {
	before := h.clock.now()
	h.clock.set(min(MostShift, before+random.Between(rng, 100*time.Millisecond, MostShift)))
	defer h.clock.set(before)
	time.Sleep(d)
	return nil
}

// clockBack has the clock jump back.
func (w *world) clockBack(h *host, rng *rand.Rand, d time.Duration) error {
	back := max(-MostShift, h.clock.now()-random.Between(rng, 100*time.Millisecond, MostShift/2))
	for _, h := range w.alike(h) {
		h.clock.set(back)
	}
	time.Sleep(d)
	return nil
}

// clockFast has the clock gain half a percent, in small steps, and jump back in the end.
func (w *world) clockFast(h *host, _ *rand.Rand, d time.Duration) error {
	const step = 200 * time.Millisecond
	before := h.clock.now()
	defer h.clock.set(before)
	start := time.Now()
	return during(d, step, func() error {
		h.clock.set(before + time.Since(start)/200)
		return nil
	})
}
