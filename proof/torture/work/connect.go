package work

import (
	"context"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/proof/torture/world"
	"github.com/seed-14de3678/redislock/quorum"
)

// patience is for how long a connection waits for the server.
const patience = time.Second

// A connection is what a process has of the servers.
type connection struct {
	rdbs     []redis.UniversalClient // one, or one for each server of a quorum
	clients  []*redislock.Client     // the same
	quorum   *quorum.Client          // nil without a quorum
	resource redis.Scripter          // where what is fenced is stored
}

// A wrapped client is one that a Client does not know, so that it uses Eval and EvalSha alone.
type wrapped struct{ redis.UniversalClient }

// A wrapping says how the Redis clients of a process are wrapped.
type wrapping int

const (
	unwrapped wrapping = iota
	known              // and the Client is told of what
	unknown            // so that calls do not travel together, and nobody stands in line
)

// wrappingOf decides that by the number of a process. A Client that asks the server itself cannot have one of these.
func wrappingOf(c Config, load Load) wrapping {
	single := c.Target.Topology == world.Single
	switch {
	case c.Target.Replicas > 0, c.Target.MinUptime > 0:
	case c.Process%4 == 0 && (single || isQuorum(c.Target.Topology)) && !slices.Contains(load.Ways, history.Queue):
		return unknown
	case c.Process%5 == 0 && single:
		return known
	}
	return unwrapped
}

// connect makes the clients of a process. They are not all alike: some use RESP2, some hear of Breaks, and some have a Redis
// client that is wrapped, so that some do not batch.
func connect(c Config, load Load, hooks func(layer) redislock.Hooks, seen func(redis.Cmder)) (*connection, error) {
	t := &connection{}
	options := []redislock.ClientOption{
		redislock.WithHooks(hooks(client)), redislock.WithReplicas(c.Target.Replicas), redislock.WithMinUptime(c.Target.MinUptime),
	}
	if c.Process%2 == 1 {
		options = append(options, redislock.WithBreakNotices())
	}
	wraps := wrappingOf(c, load)
	for _, rdb := range dial(c.Target, 2+c.Process%3%2, wraps != unwrapped) {
		t.rdbs = append(t.rdbs, rdb)
		rdb.AddHook(check.Around{After: seen})
		switch wraps {
		case known:
			t.clients = append(t.clients, redislock.New(wrapped{rdb}, append(options, redislock.WithWrapped(rdb))...))
		case unknown:
			t.clients = append(t.clients, redislock.New(wrapped{rdb}, options...))
		default:
			t.clients = append(t.clients, redislock.New(rdb, options...))
		}
	}
	if len(t.rdbs) == 0 {
		return nil, fmt.Errorf("work: topology %q has no servers", c.Target.Topology)
	}
	t.resource = t.rdbs[0]
	if isQuorum(c.Target.Topology) {
		var err error
		if t.quorum, err = quorum.New(t.clients, quorum.WithHooks(hooks(wholes))); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func isQuorum(t world.Topology) bool { return t == world.Quorum3 || t == world.Quorum5 }

// isSharded reports whether the keys of a set have to share a hash tag.
func isSharded(t world.Topology) bool { return t == world.Cluster || t == world.Ring }

// dial makes the clients of go-redis that fit the topology. One that is to be wrapped sends nothing again.
func dial(t world.Target, protocol int, wraps bool) []redis.UniversalClient {
	reach := dialer(t.Via)
	switch t.Topology {
	case world.Sentinel:
		return []redis.UniversalClient{redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: t.Master, SentinelAddrs: t.Addrs, Username: t.Username, Password: t.Password, Dialer: reach,
			Protocol: protocol, DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
		})}
	case world.Cluster:
		return []redis.UniversalClient{redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: t.Addrs, Username: t.Username, Password: t.Password, Dialer: reach,
			Protocol: protocol, DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
		})}
	case world.Ring:
		shards := map[string]string{}
		for i, addr := range t.Addrs {
			shards[fmt.Sprintf("shard%d", i)] = addr
		}
		return []redis.UniversalClient{redis.NewRing(&redis.RingOptions{
			Addrs: shards, Username: t.Username, Password: t.Password, Dialer: reach,
			Protocol: protocol, DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
		})}
	}
	addrs := t.Addrs
	if !isQuorum(t.Topology) && len(addrs) > 0 {
		addrs = addrs[:1]
	}
	retries := 0 // the default
	if wraps {
		retries = -1
	}
	var all []redis.UniversalClient
	for _, addr := range addrs {
		all = append(all, redis.NewClient(&redis.Options{
			Addr: addr, Username: t.Username, Password: t.Password, Dialer: reach, MaxRetries: retries,
			Protocol: protocol, DialTimeout: patience, ReadTimeout: patience, WriteTimeout: patience,
		}))
	}
	return all
}

// dialer connects to the relay in front of a server, if there is one.
func dialer(via map[string]string) func(context.Context, string, string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: patience, KeepAlive: time.Minute}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if relay, ok := via[addr]; ok {
			addr = relay
		}
		return plain.DialContext(ctx, network, addr)
	}
}

// close ends the clients, the quorum's first.
func (t *connection) close() {
	if t.quorum != nil {
		t.quorum.Close()
	}
	for _, c := range t.clients {
		c.Close()
	}
	for _, rdb := range t.rdbs {
		_ = rdb.Close() // there is nobody to be told
	}
}
