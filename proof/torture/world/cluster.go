package world

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// masters is how many a Cluster has, each with one replica.
const masters = 3

// A cluster is the servers of a Cluster.
type cluster struct {
	*world
	group *redistest.Cluster
	move  *redistest.Move // that has begun and not ended
}

// sharded starts three masters with a replica each.
func (w *world) sharded() {
	w.Helper()
	c := &cluster{world: w, group: redistest.StartCluster(w.reporter, w.kind, masters, 1, serverArgs()...)}
	for _, server := range c.group.Nodes() {
		h := w.host(server, nil)
		w.hosts = append(w.hosts, h)
		w.target.Addrs = append(w.target.Addrs, h.Addr())
	}
	if w.target.Replicas == all {
		w.target.Replicas = 1
	}
	w.serving = c.mastersNow
	w.settled = func() error {
		if c.move != nil {
			return errors.New("a slot is on its way")
		}
		return c.group.Settled()
	}
	w.mend = c.closeSlots
	w.own = c.faults
}

// mastersNow are the servers that have slots.
func (c *cluster) mastersNow() ([]*host, error) {
	var hosts []*host
	for _, server := range c.group.Masters() {
		hosts = append(hosts, c.hostOf(server))
	}
	if len(hosts) != masters {
		return nil, errMany
	}
	return hosts, nil
}

// faults are those of a Cluster: see docs/choosing.md, "What a fail-over does".
func (c *cluster) faults() []Nemesis {
	order := []check.Promise{check.Order}
	return []Nemesis{
		c.onServer("failover-planned", order, c.planned),
		c.onServer("failover-kill", c.loses(), c.killed),
		c.onServer("failover-stop", c.loses(), c.stopped),
		c.onServer("masters-stop", c.loses(), c.mostStopped),
		c.onServer("replica-stop", nil, c.oneReplica(func(h *host, d time.Duration) {
			h.Pause()
			defer h.Resume()
			time.Sleep(d)
		})),
		c.onServer("replica-restart", nil, c.oneReplica(func(h *host, _ time.Duration) { h.Restart() })),
		// Who has subscribed to a channel of the slot is not told any more by the former master.
		c.onServer("move-slot", order, c.moveSlot),
	}
}

// planned has a replica take the place of a master, which has caught up first.
func (c *cluster) planned(h *host, _ *rand.Rand, _ time.Duration) error {
	defer c.expect()
	return c.try(func() error { c.group.FailOver(h.Server); return nil })
}

// killed loses whatever the master had not replicated.
func (c *cluster) killed(h *host, _ *rand.Rand, _ time.Duration) error {
	defer c.expect()
	replica := c.group.ReplicaOf(h.Server)
	h.Kill()
	err := c.try(func() error { c.group.AwaitMaster(replica); return nil })
	h.Restart()
	return err
}

// stopped has the master wake up when it has a successor.
func (c *cluster) stopped(h *host, rng *rand.Rand, d time.Duration) error {
	defer c.expect()
	replica := c.group.ReplicaOf(h.Server)
	h.Pause()
	err := c.try(func() error { c.group.AwaitMaster(replica); return nil })
	time.Sleep(random.Between(rng, 0, d))
	h.Resume()
	return err
}

// mostStopped has so many masters stand still that the Cluster is down.
func (c *cluster) mostStopped(h *host, _ *rand.Rand, d time.Duration) error {
	defer c.expect()
	hosts, err := c.serving()
	if err != nil {
		return err
	}
	hosts = slices.DeleteFunc(hosts, func(other *host) bool { return other == h })
	for _, h := range hosts {
		h.Pause()
		defer h.Resume()
	}
	time.Sleep(d)
	return nil
}

// oneReplica does something to the replica of a master.
func (c *cluster) oneReplica(do func(h *host, d time.Duration)) func(h *host, rng *rand.Rand, d time.Duration) error {
	return func(h *host, _ *rand.Rand, d time.Duration) error {
		do(c.hostOf(c.group.ReplicaOf(h.Server)), d)
		return nil
	}
}

// moveSlot moves the slot of a key that is there, if there is one: first some of its keys, later the others.
func (c *cluster) moveSlot(from *host, rng *rand.Rand, d time.Duration) error {
	hosts, err := c.serving()
	if err != nil {
		return err
	}
	hosts = slices.DeleteFunc(hosts, func(h *host) bool { return h == from })
	to := hosts[rng.IntN(len(hosts))]
	keys, err := c.keysOf(from)
	if err != nil || len(keys) == 0 {
		return err
	}
	key := keys[rng.IntN(len(keys))]
	c.move = c.group.StartMove(key, to.Server)
	time.Sleep(random.Between(rng, 0, d/3))
	for _, k := range keys {
		if slot.Tag(k) == slot.Tag(key) && rng.IntN(2) == 0 {
			c.move.Keys(k)
		}
	}
	time.Sleep(random.Between(rng, 0, d/3))
	return c.finish()
}

// finish ends a move.
func (c *cluster) finish() error {
	err := c.try(func() error { c.move.Finish(); return nil })
	if err == nil {
		c.move = nil
	}
	return err
}

// keysOf are the lock keys of a server, in order.
func (c *cluster) keysOf(h *host) ([]string, error) {
	var keys []string
	err := h.scan(func(key string) error {
		if !strings.HasPrefix(key, beside) {
			keys = append(keys, key)
		}
		return nil
	})
	slices.SortFunc(keys, cmp.Compare[string])
	return keys, err
}

// closeSlots ends a move that a strike has not ended. If the servers do not let it, the slot stays where it is, and its keys
// that have moved are lost.
func (c *cluster) closeSlots() error {
	if c.move == nil {
		return nil
	}
	if c.finish() == nil {
		return nil
	}
	c.move = nil
	var errs []error
	for _, h := range c.hosts {
		nodes, err := h.admin.ClusterNodes(background).Result()
		errs = append(errs, err)
		for _, word := range strings.Fields(nodes) {
			if name, _, open := strings.Cut(strings.TrimPrefix(word, "["), "-"); open && strings.HasPrefix(word, "[") {
				errs = append(errs, h.do("CLUSTER", "SETSLOT", name, "STABLE"))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close slots: %w", err)
	}
	return nil
}
