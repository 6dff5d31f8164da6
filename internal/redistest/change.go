package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Move is a slot of a [Cluster] on its way from one master to another. Until Finish
// its keys are partly here and partly there: a client that asks the old master for keys that
// have all left is sent on with ASK, and one that asks for some of each gets TRYAGAIN.
type Move struct {
	cluster  *Cluster
	slot     int
	from, to member
}

// StartMove begins to move the slot of key to another master. No key has moved
// when it returns.
func (c *Cluster) StartMove(key string, to *Server) *Move {
	c.tb.Helper()
	slot, err := c.slotOf(key)
	if err != nil {
		c.tb.Fatalf("redistest: move slot of %q: %v", key, err)
	}
	m := &Move{cluster: c, slot: slot, from: c.memberOf(c.MasterOf(key)), to: c.memberOf(to)}
	ctx := c.tb.Context()
	fromID, err1 := m.from.orders.Do(ctx, "CLUSTER", "MYID").Text()
	toID, err2 := m.to.orders.Do(ctx, "CLUSTER", "MYID").Text()
	m.must(errors.Join(err1, err2))
	m.must(m.to.orders.Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID).Err())
	m.must(m.from.orders.Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID).Err())
	return m
}

// Keys moves these keys. It passes over keys that do not exist.
func (m *Move) Keys(keys ...string) {
	m.cluster.tb.Helper()
	args := []any{"MIGRATE", "127.0.0.1", strconv.Itoa(m.to.Port()), "", 0, 5000, "KEYS"}
	for _, key := range keys {
		args = append(args, key)
	}
	m.must(m.from.orders.Do(m.cluster.tb.Context(), args...).Err())
}

// Finish moves what is left, and tells every node where the slot is now. Clients that
// had subscribed to a channel of the slot are unsubscribed by the old master.
func (m *Move) Finish() {
	m.cluster.tb.Helper()
	ctx := m.cluster.tb.Context()
	id, err := m.to.orders.Do(ctx, "CLUSTER", "MYID").Text()
	m.must(err)
	for {
		keys, err := m.from.orders.ClusterGetKeysInSlot(ctx, m.slot, 100).Result()
		m.must(err)
		if len(keys) == 0 {
			break
		}
		m.Keys(keys...)
	}
	// The new master first: then somebody owns the slot all the time.
	m.must(m.to.orders.Do(ctx, "CLUSTER", "SETSLOT", m.slot, "NODE", id).Err())
	m.must(m.from.orders.Do(ctx, "CLUSTER", "SETSLOT", m.slot, "NODE", id).Err())
	for _, n := range m.cluster.nodes {
		if n != m.from && n != m.to { // other nodes learn it by themselves as well, if a little later
			_ = n.admin.Do(ctx, "CLUSTER", "SETSLOT", m.slot, "NODE", id).Err()
		}
	}
}

func (m *Move) must(err error) {
	m.cluster.tb.Helper()
	if err != nil {
		m.cluster.tb.Fatalf("redistest: move slot %d: %v", m.slot, err)
	}
}

// FailOver has a replica take the place of master, which has caught up first, and
// returns it when it owns the slots. master is its replica from then on.
func (c *Cluster) FailOver(master *Server) *Server {
	c.tb.Helper()
	successor := c.ReplicaOf(master)
	m, asked := c.memberOf(successor), time.Time{}
	err := Until(formTimeout, func() error {
		if time.Since(asked) > failoverTimeout {
			asked = time.Now()
			if err := m.admin.ClusterFailover(c.tb.Context()).Err(); err != nil {
				return err
			}
		}
		return m.ownsSlots(c.tb.Context())
	})
	if err != nil {
		c.tb.Fatalf("redistest: fail over port %d to %d: %v", master.Port(), m.Port(), err)
	}
	return successor
}

// failoverTimeout is when a replica gives up a fail-over without enough votes. It is asked again, because masters do
// not vote twice within a short time.
const failoverTimeout = 6 * time.Second

// AwaitMaster returns when a replica has taken the place of its master, which may have been killed.
func (c *Cluster) AwaitMaster(replica *Server) {
	c.tb.Helper()
	m := c.memberOf(replica)
	if err := Until(formTimeout, func() error { return m.ownsSlots(c.tb.Context()) }); err != nil {
		c.tb.Fatalf("redistest: fail-over to port %d: %v", m.Port(), err)
	}
}

// ownsSlots returns nil if m takes itself for a master with slots.
func (m member) ownsSlots(ctx context.Context) error {
	view, err := viewOf(ctx, m)
	if err != nil {
		return err
	}
	if self, ok := view.self(); !ok || !self.is("master") || len(self.slots) == 0 {
		return fmt.Errorf("port %d has no slots: %q", m.Port(), self.flags)
	}
	return nil
}

func (c *Cluster) memberOf(s *Server) member {
	return c.nodes[slices.IndexFunc(c.nodes, func(m member) bool { return m.Server == s })]
}

// FailOver has the sentinels put a replica in the place of the primary, and returns
// it when it is the primary. The former primary is its replica soon after.
func (s *Sentinels) FailOver() *Server {
	s.tb.Helper()
	before := s.Primary()
	if err := s.sentinels[0].orders.Do(s.tb.Context(), "SENTINEL", "FAILOVER", PrimaryName).Err(); err != nil {
		s.tb.Fatalf("redistest: sentinel failover: %v", err)
	}
	return s.AwaitSuccessor(before)
}

// AwaitSuccessor returns the server that has taken the place of a former primary.
func (s *Sentinels) AwaitSuccessor(former *Server) *Server {
	s.tb.Helper()
	var successor *Server
	err := Until(formTimeout, func() error {
		successor = s.Primary()
		if successor == former {
			return fmt.Errorf("port %d is still the primary", former.Port())
		}
		for _, m := range s.servers {
			if m.Server == successor {
				return m.isPrimary(s.tb.Context())
			}
		}
		return nil
	})
	if err != nil {
		s.tb.Fatalf("redistest: fail-over from port %d: %v", former.Port(), err)
	}
	return successor
}

// Followed returns when a fail-over is known to all sentinels that answer, and these clients send what they send to the
// successor. Until then they may write at the former primary, if that runs, and what they write there is lost.
func (s *Sentinels) Followed(successor *Server, clients ...*redis.Client) {
	s.tb.Helper()
	ctx := s.tb.Context()
	err := Until(formTimeout, func() error {
		for _, m := range s.sentinels {
			if state, err := primaryState(ctx, m); err == nil && net.JoinHostPort(state["ip"], state["port"]) != successor.Addr() {
				return fmt.Errorf("the sentinel on port %d takes port %s for the primary", m.Port(), state["port"])
			}
		}
		for _, client := range clients {
			info, err := client.InfoMap(ctx, "server").Result()
			if err != nil {
				return err
			}
			if port := info["Server"]["tcp_port"]; port != strconv.Itoa(successor.Port()) {
				return fmt.Errorf("a client sends to port %s", port)
			}
		}
		return nil
	})
	if err != nil {
		s.tb.Fatalf("redistest: fail-over to port %d: %v", successor.Port(), err)
	}
}

func (m member) isPrimary(ctx context.Context) error {
	role, err := m.admin.Do(ctx, "ROLE").Slice()
	if err != nil {
		return err
	}
	if len(role) == 0 || role[0] != "master" {
		return fmt.Errorf("port %d is %v", m.Port(), role)
	}
	return nil
}
