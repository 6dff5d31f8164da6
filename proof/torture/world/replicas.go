package world

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// withReplicas starts a primary and two replicas. Processes know one address, that of a relay which leads to the primary, and
// which an operator has lead elsewhere when another server takes its place.
func (w *world) withReplicas() {
	w.Helper()
	w.hosts = []*host{w.skewed()}
	for range 2 {
		w.hosts = append(w.hosts, w.skewed("--replicaof", "127.0.0.1", portOf(w.hosts[0])))
	}
	for _, h := range w.hosts {
		h.replicated = true
	}
	primary := w.hosts[0]
	w.target.Addrs, w.target.Replicas = []string{primary.Addr()}, len(w.hosts)-1
	w.front = primary
	w.primary = primary
	w.serving = func() ([]*host, error) { return []*host{w.primary}, nil }
	w.settled = func() error { return w.followed(w.primary) }
	w.mend = func() error {
		return each(w.others(w.primary), func(h *host) error { return h.follow(w.primary) })
	}
	w.own = w.replicaFaults
	if err := w.until(w.settled); err != nil {
		w.TB.Fatalf("world: %v", err)
	}
}

// replicaFaults are those of a primary with replicas and of whoever takes its place, of which the README says that no lock is
// lost if all replicas have it, unless the clock of one is ahead.
func (w *world) replicaFaults() []Nemesis {
	order := []check.Promise{check.Order}
	return []Nemesis{
		w.onServer("replica-stop", nil, w.replicaStop),
		w.onServer("replica-restart", nil, w.replicaRestart),
		w.onServer("failover-planned", order, func(h *host, rng *rand.Rand, _ time.Duration) error {
			return w.handOver(h, w.others(h)[rng.IntN(len(w.hosts)-1)])
		}),
		w.onServer("failover-kill", w.loses(), w.failoverKill),
		w.onServer("failover-stop", w.loses(), w.failoverStop),
		w.onServer("replica-clock", lost(), w.replicaClock),
	}
}

// loses are the promises that do not hold after a fail-over that loses the newest writes. If every lock waits for all
// replicas none is lost, but a release may be, and then a key stays locked until its lease ends.
func (w *world) loses() []check.Promise {
	broken := append(w.kept(), check.Order, check.Answers)
	if w.target.Replicas == 0 {
		broken = append(broken, check.Exclusion)
	}
	return broken
}

// replicaStop has one replica, or all, stand still, so that nobody gets a lock that waits for all.
func (w *world) replicaStop(primary *host, rng *rand.Rand, d time.Duration) error {
	replicas := w.others(primary)
	replicas = replicas[:1+rng.IntN(len(replicas))]
	for _, h := range replicas {
		h.Pause()
		defer h.Resume()
	}
	time.Sleep(d)
	return nil
}

func (w *world) replicaRestart(primary *host, rng *rand.Rand, d time.Duration) error {
	h := w.others(primary)[rng.IntN(len(w.hosts)-1)]
	h.kill()
	time.Sleep(random.Between(rng, 0, min(d, shortStop)))
	h.start()
	return w.until(func() error { return w.followed(primary) })
}

// handOver has the servers change places. Nothing is lost by that.
func (w *world) handOver(from, to *host) error {
	if err := from.do("FAILOVER", "TO", "127.0.0.1", to.Port(), "TIMEOUT", healTime.Milliseconds()); err != nil {
		return err
	}
	if err := w.until(to.isPrimary); err != nil {
		return err
	}
	return w.leadTo(to)
}

// leadTo has everybody go to a new primary: its replicas, but for the former one, and the connections of the processes that
// are opened from now on. Those that are open go on to the former.
func (w *world) leadTo(to *host) error {
	former := w.primary
	w.primary = to
	w.front.relay.Retarget(to.Addr())
	return each(w.others(to), func(h *host) error {
		if h == former {
			return nil
		}
		return h.follow(to)
	})
}

// promote makes the replica the primary that has more of its data, as Sentinel does.
func (w *world) promote(former *host) error {
	var best *host
	var most int64
	for _, h := range w.others(former) {
		offset, err := h.number("Replication", "slave_repl_offset")
		if err != nil {
			return err
		}
		if best == nil || offset > most {
			best, most = h, offset
		}
	}
	if err := best.do("REPLICAOF", "NO", "ONE"); err != nil {
		return err
	}
	return w.leadTo(best)
}

// failoverKill loses whatever the primary had not replicated. It comes back with its data, and follows.
func (w *world) failoverKill(h *host, rng *rand.Rand, d time.Duration) error {
	h.kill()
	time.Sleep(random.Between(rng, 0, min(d, shortStop)))
	err := w.promote(h)
	h.start()
	return errors.Join(err, h.follow(w.primary))
}

// failoverStop has the primary wake up when it has a successor, and go on for a while with the connections that it has.
func (w *world) failoverStop(h *host, rng *rand.Rand, d time.Duration) error {
	h.Pause()
	time.Sleep(random.Between(rng, 0, d))
	err := w.promote(h)
	h.Resume()
	time.Sleep(random.Between(rng, 0, d))
	return errors.Join(err, h.follow(w.primary))
}

// replicaClock has a replica whose clock is ahead take the place of the primary.
func (w *world) replicaClock(h *host, rng *rand.Rand, d time.Duration) error {
	to := w.others(h)[rng.IntN(len(w.hosts)-1)]
	before := to.clock.now()
	to.clock.set(before + random.Between(rng, 100*time.Millisecond, MostShift))
	defer to.clock.set(before)
	if err := w.handOver(h, to); err != nil {
		return err
	}
	time.Sleep(d)
	return nil
}
