// Package world has the servers of a campaign, in every topology that the library supports, and what can happen to them.
package world

import (
	"context"
	"math/rand/v2"
	"net"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// A Topology is how the servers are put together.
type Topology string

// The topologies there are.
const (
	Single   Topology = "single"
	Replicas Topology = "replicas" // one primary, two replicas, and locks that wait for both
	Sentinel Topology = "sentinel"
	Cluster  Topology = "cluster"
	Ring     Topology = "ring"
	Quorum3  Topology = "quorum3"
	Quorum5  Topology = "quorum5"
)

// Topologies returns all of them.
func Topologies() []Topology {
	return []Topology{Single, Replicas, Sentinel, Cluster, Ring, Quorum3, Quorum5}
}

// A Target says how a process reaches the servers. It travels to the processes as JSON.
type Target struct {
	Topology Topology
	Addrs    []string          // of the server; of the sentinels; of the nodes of the Cluster; of the shards; of the quorum's servers
	Master   string            // the name by which the sentinels know the primary
	Via      map[string]string // from the address of a server to that of the relay in front of it, to which processes connect instead
	Username string
	Password string

	Replicas  int           // WithReplicas of every Client
	MinUptime time.Duration // WithMinUptime of every Client
	Endless   bool          // leases are so long that none ends
}

// Dial opens a connection to a server by way of the relay in front of it. It is the Dialer of every Redis client.
func (t Target) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if via, ok := t.Via[addr]; ok {
		addr = via
	}
	dialer := net.Dialer{Timeout: 5 * time.Second, KeepAlive: 5 * time.Minute}
	return dialer.DialContext(ctx, network, addr)
}

// A World is a set of servers that runs.
type World interface {
	Target() Target
	// Nemeses are the faults that it knows, in the same order each time.
	Nemeses() []Nemesis
	// Heal undoes whatever a fault has left, waits until the servers serve again, and says why if they do not.
	Heal() error
	// Left returns the names of keys that nobody may find in the servers when everything was released and every lease must
	// have ended: lock keys that are held, waiters in lines, and any key without a TTL.
	Left() ([]string, error)
	// Accidents returns the promises that something may have broken which no fault was to do, and forgets them: a fail-over
	// because the machine was busy, for example.
	Accidents() []check.Promise
}

// A Nemesis is one kind of fault.
type Nemesis struct {
	Name   string // as in a report: "cut", "server-stop-long"
	Breaks []check.Promise
	// Strike makes the fault last for d, perhaps less, and ends it. What it chooses it chooses by rng alone, so that the same
	// numbers make the same fault. Strikes of the network may be made together with one of the servers; those of a kind are
	// made one after the other.
	Strike func(rng *rand.Rand, d time.Duration) error
}
