package redistest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

const slots = 16384

// Cluster is a Redis or Valkey Cluster of real processes. A master that is silent
// for a second is replaced by a replica within two to four.
//
// Its methods are safe for concurrent use. A method that looks something up ends the test if it cannot find it, so call
// it on the test's own goroutine.
type Cluster struct {
	tb                testing.TB
	nodes             []member // at first: the masters, then the replicas
	masters, replicas int      // how many masters there are, and how many replicas each has
}

// StartCluster runs masters, each with so many replicas, for the time of the test.
// It returns when every node calls the cluster ok and knows every node with its
// role, and every replica is linked to its master: two seconds or more, which a
// master of a new cluster waits by itself. extraArgs go to every node. Without the
// program the test is skipped, see [Need].
func StartCluster(tb testing.TB, kind Kind, masters, replicasPerMaster int, extraArgs ...string) *Cluster {
	tb.Helper()
	Need(tb, kind.program())
	args := append([]string{
		"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
		"--cluster-node-timeout", "1000", "--cluster-replica-validity-factor", "0",
	}, extraArgs...)
	n := masters * (1 + replicasPerMaster)
	c := &Cluster{
		tb: tb, nodes: launchAll(tb, n, func(int) (*Server, error) { return Launch(kind, args...) }),
		masters: masters, replicas: replicasPerMaster,
	}
	ctx := tb.Context()
	if err := errors.Join(c.assign(ctx, masters), c.meet(ctx)); err != nil {
		tb.Fatalf("redistest: form cluster: %v", err)
	}
	for _, step := range []func() error{
		func() error { return c.everyNode(func(m member) error { return c.acquainted(ctx, m) }) },
		func() error { return c.replicate(ctx, masters) },
		c.Settled,
	} {
		if err := Until(formTimeout, step); err != nil {
			tb.Fatalf("redistest: form cluster: %v", err)
		}
	}
	return c
}

// assign gives the masters their slots, while no node knows another. Each node
// gets an epoch of its own: with equal ones they would spend time sorting it out.
func (c *Cluster) assign(ctx context.Context, masters int) error {
	for i, m := range c.nodes {
		if err := m.orders.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
			return err
		}
		if i >= masters {
			continue
		}
		first, next := i*slots/masters, (i+1)*slots/masters
		if err := m.orders.ClusterAddSlotsRange(ctx, first, next-1).Err(); err != nil {
			return err
		}
	}
	return nil
}

// meet introduces every node to every other. To introduce all to one would do,
// but then gossip takes a second to bring the rest together.
func (c *Cluster) meet(ctx context.Context) error {
	for i, m := range c.nodes {
		for _, other := range c.nodes[i+1:] {
			if err := m.orders.ClusterMeet(ctx, "127.0.0.1", fmt.Sprint(other.Port())).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// acquainted returns nil if m knows all nodes, and has a complete handshake with each.
func (c *Cluster) acquainted(ctx context.Context, m member) error {
	view, err := viewOf(ctx, m)
	if err != nil {
		return err
	}
	if len(view) != len(c.nodes) {
		return fmt.Errorf("port %d knows %d nodes of %d", m.Port(), len(view), len(c.nodes))
	}
	for _, n := range view {
		if n.is("handshake") || n.is("noaddr") || n.is("fail") || n.is("fail?") || !n.linked {
			return fmt.Errorf("port %d sees port %d as %q, linked: %t", m.Port(), n.port, n.flags, n.linked)
		}
	}
	return nil
}

// replicate makes the nodes behind the masters their replicas, in turn.
func (c *Cluster) replicate(ctx context.Context, masters int) error {
	for i, m := range c.nodes[masters:] {
		id, err := c.nodes[i%masters].admin.Do(ctx, "CLUSTER", "MYID").Text()
		if err != nil {
			return err
		}
		if err := m.admin.ClusterReplicate(ctx, id).Err(); err != nil {
			return err
		}
	}
	return nil
}

// Settled returns nil if the cluster is as it was at the start, even if other nodes are the masters now: every node
// calls it ok and knows every node, and every replica is linked to its master. Otherwise the error says what is
// missing.
func (c *Cluster) Settled() error {
	return c.everyNode(func(m member) error { return c.settled(c.tb.Context(), m) })
}

// settled returns nil if m has nothing more to wait for.
func (c *Cluster) settled(ctx context.Context, m member) error {
	if err := c.acquainted(ctx, m); err != nil {
		return err
	}
	info, err := m.admin.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	if !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_slots_assigned:16384") {
		return fmt.Errorf("port %d says %.60q", m.Port(), info)
	}
	view, err := viewOf(ctx, m)
	if err != nil {
		return err
	}
	if err := view.complete(c.masters, c.replicas); err != nil {
		return fmt.Errorf("port %d: %w", m.Port(), err)
	}
	if self, ok := view.self(); ok && self.is("slave") {
		return m.linkedToMaster(ctx)
	}
	return m.linkedReplicas(ctx, c.replicas)
}

// everyNode asks all nodes at the same time.
func (c *Cluster) everyNode(ask func(member) error) error {
	errs := make([]error, len(c.nodes))
	var wg sync.WaitGroup
	for i, m := range c.nodes {
		wg.Go(func() { errs[i] = ask(m) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Nodes are all servers, and first the ones that were masters at the start.
func (c *Cluster) Nodes() []*Server { return serversOf(c.nodes) }

// Addrs are the addresses of Nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.nodes))
	for i, m := range c.nodes {
		addrs[i] = m.Addr()
	}
	return addrs
}

// Client returns a client with go-redis's default options apart from the
// addresses, changed by mod, closed when the test ends.
func (c *Cluster) Client(tb testing.TB, mod ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	tb.Helper()
	opt := &redis.ClusterOptions{Addrs: c.Addrs()}
	for _, m := range mod {
		m(opt)
	}
	client := redis.NewClusterClient(opt)
	// The error is dropped: a test may well have closed it already.
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// MasterOf returns the server that owns the slot of key now, by the nodes that answer. Right after a fail-over they may
// not agree. The newest claim counts, so a former master that does not know better is not believed.
func (c *Cluster) MasterOf(key string) *Server {
	c.tb.Helper()
	var s *Server
	err := Until(readyTimeout, func() error {
		slot, err := c.slotOf(key)
		if err != nil {
			return err
		}
		if s = atPort(c.nodes, newestOwner(c.views(), slot)); s == nil {
			return fmt.Errorf("nobody owns slot %d", slot)
		}
		return nil
	})
	if err != nil {
		c.tb.Fatalf("redistest: master of %q: %v", key, err)
	}
	return s
}

// Masters are the servers that own slots now, as MasterOf finds them.
func (c *Cluster) Masters() []*Server {
	views := c.views()
	var owners []*Server
	for _, v := range views {
		for _, n := range v {
			for _, r := range n.slots {
				s := atPort(c.nodes, newestOwner(views, r[0]))
				if s != nil && !slices.Contains(owners, s) {
					owners = append(owners, s)
				}
			}
		}
	}
	slices.SortFunc(owners, func(a, b *Server) int { return cmp.Compare(a.Port(), b.Port()) })
	return owners
}

// ReplicaOf returns a running server that takes itself for a replica of master.
func (c *Cluster) ReplicaOf(master *Server) *Server {
	c.tb.Helper()
	var s *Server
	err := Until(readyTimeout, func() error {
		for _, view := range c.views() {
			self, ok := view.self()
			if ok && self.is("slave") && view.portOf(self.master) == master.Port() {
				s = atPort(c.nodes, self.port)
				return nil
			}
		}
		return fmt.Errorf("port %d has no replica that answers", master.Port())
	})
	if err != nil {
		c.tb.Fatalf("redistest: %v", err)
	}
	return s
}

// slotOf asks the first node that answers.
func (c *Cluster) slotOf(key string) (int, error) {
	err := errors.New("no nodes")
	for _, m := range c.nodes {
		var slot int64
		if slot, err = m.admin.ClusterKeySlot(c.tb.Context(), key).Result(); err == nil {
			return int(slot), nil
		}
	}
	return 0, err
}

// views are the views of the cluster of the nodes that answer.
func (c *Cluster) views() []clusterView {
	all := make([]clusterView, len(c.nodes))
	var wg sync.WaitGroup
	for i, m := range c.nodes {
		// A node that does not answer has an empty view.
		wg.Go(func() { all[i], _ = viewOf(c.tb.Context(), m) })
	}
	wg.Wait()
	return all
}
