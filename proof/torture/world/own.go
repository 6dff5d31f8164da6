package world

import (
	"math/rand/v2"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// goneAfter is when a Ring takes a shard for lost: it asks twice a second, and counts to three.
const goneAfter = 2 * time.Second

// ringFaults are those of a Ring: it moves the keys of a shard that it has lost to another one, which knows no locks, and
// back when the shard answers again.
func (w *world) ringFaults() []Nemesis {
	breaks := w.shardLost()
	return []Nemesis{
		w.onServer("shard-away", breaks, func(h *host, _ *rand.Rand, d time.Duration) error {
			h.relay.Refuse(true)
			defer h.relay.Refuse(false)
			h.relay.Cut()
			time.Sleep(max(d, goneAfter))
			return nil
		}),
		w.onServer("shard-killed", breaks, func(h *host, _ *rand.Rand, d time.Duration) error {
			h.kill()
			time.Sleep(max(d, goneAfter))
			h.start()
			return nil
		}),
	}
}

// shardLost are the promises that do not hold when the keys of a shard are at another one for a while. When they are back, locks
// are held there that were released meanwhile.
func (w *world) shardLost() []check.Promise { return append(lost(), w.kept()...) }

// quorumFaults are those of more servers than a quorum can be without. They keep what they have, so nothing is broken: locks
// cannot be had, and end.
func (w *world) quorumFaults() []Nemesis {
	return []Nemesis{
		w.onServer("majority-stop", nil, w.majority(func(hosts []*host, d time.Duration) {
			for _, h := range hosts {
				h.Pause()
				defer h.Resume()
			}
			time.Sleep(d)
		})),
		w.onServer("majority-restart", nil, w.majority(func(hosts []*host, d time.Duration) {
			for _, h := range hosts {
				h.kill()
			}
			time.Sleep(min(d, shortStop))
			for _, h := range hosts {
				h.start()
			}
		})),
	}
}

// majority does something to so many servers that the others are too few.
func (w *world) majority(do func(hosts []*host, d time.Duration)) func(h *host, rng *rand.Rand, d time.Duration) error {
	return func(_ *host, rng *rand.Rand, d time.Duration) error {
		var chosen []*host
		for _, i := range rng.Perm(len(w.hosts))[:len(w.hosts)/2+1] {
			chosen = append(chosen, w.hosts[i])
		}
		do(chosen, d)
		return nil
	}
}
