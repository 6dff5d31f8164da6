package world

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/check"
)

const (
	shortStop = 200 * time.Millisecond // nobody takes a server that is silent for so long for dead
	busyAfter = 100                    // ms after which a script may be ended
)

// serverFaults are the nemeses of the servers themselves that lose nothing. A server that is silent for long is dead for a
// Ring, for Sentinel and for a Cluster: those have what it makes of it among their own.
func (w *world) serverFaults() []Nemesis {
	order := []check.Promise{check.Order}
	var away []check.Promise // a Ring loses a shard that is away, or answers PING with an error, three times in a row
	back := order
	if w.target.Topology == Ring {
		away, back = w.shardLost(), w.shardLost()
	}
	all := []Nemesis{
		w.onServer("stop-short", nil, w.stopShort),
		w.onServer("restart", back, w.restart),
		w.onServer("kill-clients", order, w.killClients),
		w.onServer("script-flush", nil, w.scriptFlush),
		w.onServer("pause-writes", nil, w.pause("WRITE")),
		w.onServer("pause-all", away, w.pause("ALL")),
		w.onServer("busy-script", away, w.busyScript),
		w.onServer("no-memory", order, w.noMemory),
		w.onServer("no-replicas", order, w.noReplicas),
		// A release that is refused for want of rights is not done again: the lock ends with its lease.
		w.onServer("rights", append(order, w.kept()...), w.rights(plainCommands())),
		// A late request may take keys, or free those of the next holder of the same token.
		w.onServer("rights-of-guards", append(lost(), w.kept()...), w.rights(guardCommands())),
		w.onServer("slow-server", nil, w.slowServer),
	}
	if w.hosts[0].clock != nil {
		all = append(all, w.onServer("slow-disk", nil, w.slowDisk))
	}
	if !w.failsOver() {
		all = append(all, w.onServer("stop-long", back, w.stop))
	}
	return all
}

// onServer makes a nemesis of what is to be done to one of the servers that have locks.
func (w *world) onServer(name string, breaks []check.Promise, strike func(h *host, rng *rand.Rand, d time.Duration) error) Nemesis {
	return Nemesis{Name: name, Breaks: breaks, Strike: func(rng *rand.Rand, d time.Duration) error {
		w.servers.Lock()
		defer w.servers.Unlock()
		return w.try(func() error {
			h, err := w.oneServing(rng)
			if err != nil {
				return err
			}
			return strike(h, rng, d)
		})
	}}
}

// stop is SIGSTOP for all of the time.
func (w *world) stop(h *host, _ *rand.Rand, d time.Duration) error {
	h.Pause()
	defer h.Resume()
	time.Sleep(d)
	return nil
}

// stopShort is SIGSTOP for much less than a lease, again and again.
func (w *world) stopShort(h *host, rng *rand.Rand, d time.Duration) error {
	return during(d, random.Between(rng, 300*time.Millisecond, time.Second), func() error {
		return w.stop(h, rng, min(d, random.Between(rng, 10*time.Millisecond, shortStop)))
	})
}

// restart is kill -9 and a start with all data.
func (w *world) restart(h *host, rng *rand.Rand, d time.Duration) error {
	h.kill()
	time.Sleep(random.Between(rng, 0, min(d, shortStop)))
	h.start()
	return nil
}

// killClients has the server end all connections of the user, or those of one kind.
func (w *world) killClients(h *host, rng *rand.Rand, d time.Duration) error {
	kinds := [][]string{{"normal"}, {"pubsub"}, {"normal", "pubsub"}}[rng.IntN(3)]
	return during(d, random.Between(rng, 20*time.Millisecond, 300*time.Millisecond), func() error {
		for _, kind := range kinds {
			if err := h.do("CLIENT", "KILL", "USER", username, "TYPE", kind); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) scriptFlush(h *host, _ *rand.Rand, d time.Duration) error {
	return during(d, 5*time.Millisecond, func() error { return h.do("SCRIPT", "FLUSH") })
}

// pause is CLIENT PAUSE. It ends by itself.
func (w *world) pause(what string) func(h *host, rng *rand.Rand, d time.Duration) error {
	return func(h *host, rng *rand.Rand, d time.Duration) error {
		once := min(d, shortStop)
		if w.failsOver() {
			what = "WRITE" // the watchers ask it, and what they ask is no write
		} else if rng.IntN(2) == 0 {
			once = min(d, askTime/2)
		}
		return during(d, once+random.Between(rng, 50*time.Millisecond, 300*time.Millisecond), func() error {
			return h.do("CLIENT", "PAUSE", once.Milliseconds(), what)
		})
	}
}

// failsOver reports whether somebody replaces a server that is silent.
func (w *world) failsOver() bool {
	return w.target.Topology == Sentinel || w.target.Topology == Cluster
}

// busyScript has the server run a script that does not end, until it is told to. The server answers BUSY to everybody else
// meanwhile; before that, nothing.
func (w *world) busyScript(h *host, rng *rand.Rand, d time.Duration) error {
	if err := h.config("busy-reply-threshold", busyAfter); err != nil {
		return err
	}
	defer h.config("busy-reply-threshold", 5000) //nolint:errcheck // Heal does so, too
	once := d
	if w.failsOver() {
		once = min(d, busyAfter*time.Millisecond+shortStop)
	}
	return during(d, once+random.Between(rng, 100*time.Millisecond, 400*time.Millisecond), func() error {
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = h.do("EVAL", "while true do end", 0) // it ends with an error, that of SCRIPT KILL
		}()
		time.Sleep(min(once, d))
		return w.until(func() error { // it begins later if writes pause
			err := h.killScript()
			select {
			case <-done:
				return err
			default:
				return cmp.Or(err, errors.New("the script has not ended"))
			}
		})
	})
}

// killScript returns nil when no script runs any more.
func (h *host) killScript() error {
	err := h.do("SCRIPT", "KILL")
	if err != nil && strings.Contains(err.Error(), "NOTBUSY") {
		return h.do("PING")
	}
	if err != nil {
		return err
	}
	return h.do("PING")
}

// noMemory is a server that refuses whatever may need memory.
func (w *world) noMemory(h *host, _ *rand.Rand, d time.Duration) error {
	defer h.config("maxmemory", 0) //nolint:errcheck // Heal does so, too
	if err := h.config("maxmemory", 1); err != nil {
		return err
	}
	time.Sleep(d)
	return h.config("maxmemory", 0)
}

// noReplicas is a primary that refuses writes, because too few replicas are there.
func (w *world) noReplicas(h *host, _ *rand.Rand, d time.Duration) error {
	defer h.config("min-replicas-to-write", 0) //nolint:errcheck // Heal does so, too
	if err := h.config("min-replicas-to-write", 9); err != nil {
		return err
	}
	time.Sleep(d)
	return h.config("min-replicas-to-write", 0)
}

// rights takes the right to one command after the other from the user, and gives it back.
func (w *world) rights(from []string) func(h *host, rng *rand.Rand, d time.Duration) error {
	return func(h *host, rng *rand.Rand, d time.Duration) error {
		for end := time.Now().Add(d); time.Now().Before(end); {
			command := from[rng.IntN(len(from))]
			if err := h.do("ACL", "SETUSER", username, "-"+command); err != nil {
				return err
			}
			time.Sleep(min(time.Until(end), random.Between(rng, 100*time.Millisecond, time.Second)))
			if err := h.do("ACL", "SETUSER", username, "+"+command); err != nil {
				return err
			}
		}
		return nil
	}
}

// slowServer is a server that does something else now and then, for as long as a disk may take.
func (w *world) slowServer(h *host, rng *rand.Rand, d time.Duration) error {
	return during(d, random.Between(rng, 50*time.Millisecond, 300*time.Millisecond), func() error {
		return h.do("DEBUG", "SLEEP", random.Between(rng, time.Millisecond, shortStop).Seconds())
	})
}

// slowDisk has the server wait for its disk before it answers a write.
func (w *world) slowDisk(h *host, rng *rand.Rand, d time.Duration) error {
	defer h.clock.clock.SlowDisk(0)
	h.clock.clock.SlowDisk(random.Between(rng, 5*time.Millisecond, shortStop))
	time.Sleep(d)
	return nil
}

// isUp reports whether a server answers, and is not loading its data.
func (h *host) isUp() error {
	pong, err := h.admin.Do(context.Background(), "PING").Text()
	if err == nil && pong != "PONG" {
		return redis.Nil
	}
	return err
}
