package world

import (
	"math/rand/v2"
	"time"

	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// What the README says of the network: a request that is not answered is closed by the next one, and nobody waits. So no
// fault of the network breaks anything but the order of those who wait: a waiter whose subscription is cut is passed over,
// see docs/waiting.md. A Ring takes a server that does not answer for lost, and moves its keys.

// networkFaults are the nemeses of the relays.
func (w *world) networkFaults() []Nemesis {
	order := []check.Promise{check.Order}
	away := order
	if w.target.Topology == Ring {
		away = w.shardLost()
	}
	return []Nemesis{
		w.onNetwork("cut", order, w.cut),
		w.onNetwork("cut-some", order, w.cutSome),
		w.onNetwork("refuse", away, w.refuse),
		w.onNetwork("blackhole", away, w.blackhole),
		w.onNetwork("delay-requests", away, w.delayRequests),
		w.onNetwork("delay-replies", away, w.delayReplies),
		w.onNetwork("drop-replies", away, w.dropReplies),
		w.onNetwork("cut-replies", nil, w.cutReplies),
		w.onNetwork("hold", away, w.hold),
		w.onNetwork("late", nil, w.lateDelivery),
	}
}

// onNetwork makes a nemesis of what is to be done at the relays of some servers.
func (w *world) onNetwork(name string, breaks []check.Promise, strike func(hosts []*host, rng *rand.Rand, d time.Duration) error) Nemesis {
	return Nemesis{Name: name, Breaks: breaks, Strike: func(rng *rand.Rand, d time.Duration) error {
		w.network.Lock()
		defer w.network.Unlock()
		return w.try(func() error {
			hosts, err := w.some(rng)
			if err != nil {
				return err
			}
			defer calm(hosts)
			return strike(hosts, rng, d)
		})
	}}
}

// calm turns all switches of the relays off. What was kept back stays so.
func calm(hosts []*host) {
	for _, h := range hosts {
		h.relay.OnRequest(nil)
		h.relay.DelayRequests(0)
		h.relay.DelayReplies(0)
		h.relay.DropReplies(false)
		h.relay.ReleaseRequests()
		h.relay.Blackhole(false)
		h.relay.Refuse(false)
	}
}

// forAll does something with each relay, and waits.
func forAll(hosts []*host, d time.Duration, do func(*host)) error {
	for _, h := range hosts {
		do(h)
	}
	time.Sleep(d)
	return nil
}

// cut ends all connections, again and again.
func (w *world) cut(hosts []*host, rng *rand.Rand, d time.Duration) error {
	return during(d, random.Between(rng, 50*time.Millisecond, 500*time.Millisecond), func() error {
		return each(hosts, func(h *host) error { h.relay.Cut(); return nil })
	})
}

// cutSome is a proxy that drops connections now and then.
func (w *world) cutSome(hosts []*host, rng *rand.Rand, d time.Duration) error {
	return during(d, random.Between(rng, 10*time.Millisecond, 100*time.Millisecond), func() error {
		return each(hosts, func(h *host) error {
			h.relay.CutSome(func() bool { return rng.IntN(4) == 0 })
			return nil
		})
	})
}

// refuse is a port where nobody listens.
func (w *world) refuse(hosts []*host, _ *rand.Rand, d time.Duration) error {
	return forAll(hosts, d, func(h *host) {
		h.relay.Refuse(true)
		h.relay.Cut()
	})
}

func (w *world) blackhole(hosts []*host, _ *rand.Rand, d time.Duration) error {
	return forAll(hosts, d, func(h *host) { h.relay.Blackhole(true) })
}

func (w *world) delayRequests(hosts []*host, rng *rand.Rand, d time.Duration) error {
	late := random.Between(rng, 10*time.Millisecond, 700*time.Millisecond)
	return forAll(hosts, d, func(h *host) { h.relay.DelayRequests(late) })
}

func (w *world) delayReplies(hosts []*host, rng *rand.Rand, d time.Duration) error {
	late := random.Between(rng, 10*time.Millisecond, 700*time.Millisecond)
	return forAll(hosts, d, func(h *host) { h.relay.DelayReplies(late) })
}

func (w *world) dropReplies(hosts []*host, _ *rand.Rand, d time.Duration) error {
	return forAll(hosts, d, func(h *host) { h.relay.DropReplies(true) })
}

// cutReplies has single requests executed and not answered.
func (w *world) cutReplies(hosts []*host, rng *rand.Rand, d time.Duration) error {
	return during(d, random.Between(rng, 5*time.Millisecond, 100*time.Millisecond), func() error {
		return each(hosts, func(h *host) error {
			h.relay.OnRequest(func(name string, _ []string) {
				if isScript(name) {
					h.relay.OnRequest(nil)
					h.relay.CutReplies()
				}
			})
			return nil
		})
	})
}

// hold keeps all requests and sends them on together.
func (w *world) hold(hosts []*host, _ *rand.Rand, d time.Duration) error {
	return forAll(hosts, d, func(h *host) { h.relay.HoldRequests() })
}

// isScript reports whether a command runs a script, as those do that have to do with locks.
func isScript(name string) bool { return name == "EVALSHA" || name == "EVAL" }
