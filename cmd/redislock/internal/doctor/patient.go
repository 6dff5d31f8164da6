package doctor

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/rights"
)

// askedFor is how often a Cluster is asked for its nodes until one of them answers.
const askedFor = 5

// A patient is what is looked at: the servers, and what the user has said of them.
type patient struct {
	conn    *cli.Conn
	client  *redislock.Client
	opts    options
	nodes   []*node // primaries and replicas
	cluster bool
	screen  *cli.Screen

	keys *harvest // what the scan has found; nil before
}

// newPatient finds the servers, by the addresses that the servers themselves give.
func newPatient(ctx context.Context, conn *cli.Conn, opts options, screen *cli.Screen) (p *patient, err error) {
	p = &patient{conn: conn, client: conn.Client(), opts: opts, screen: screen}
	switch rdb := conn.RDB.(type) {
	case *redis.ClusterClient:
		p.cluster = true
		err = p.findCluster(ctx, rdb)
	case *redis.Client:
		if conn.Sentinel != nil {
			err = p.findSentinels(ctx, conn.Sentinel)
		} else {
			p.findSingle(ctx, rdb)
		}
	}
	return p, err
}

// close ends the connections that the patient has made.
func (p *patient) close() {
	p.client.Close()
	for _, n := range p.nodes {
		if n.rdb != p.conn.RDB {
			_ = n.rdb.Close() // nothing was done that could be lost
		}
	}
}

// reached are the servers that answer.
func (p *patient) reached() []*node {
	return slices.DeleteFunc(slices.Clone(p.nodes), func(n *node) bool { return n.err != nil })
}

// primaries are those that answer.
func (p *patient) primaries() []*node {
	return slices.DeleteFunc(p.reached(), func(n *node) bool { return n.isReplica })
}

// bounded are options for one server that is not waited for longer than people wait, with the credentials of these.
func bounded(o *redis.Options, addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, DB: o.DB, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig, Protocol: o.Protocol,
		DialTimeout: cli.Reachable, ReadTimeout: cli.Reachable, WriteTimeout: cli.Reachable, MaxRetries: -1, DialerRetries: 1, PoolSize: 2,
	}
}

// add looks at one more server.
func (p *patient) add(ctx context.Context, o *redis.Options, addr, primary string) {
	n := newNode(ctx, addr, redis.NewClient(bounded(o, addr)))
	n.isReplica, n.primary = addr != primary, primary
	p.nodes = append(p.nodes, n)
}

// findSingle looks at one server, and at the replicas of which it knows.
func (p *patient) findSingle(ctx context.Context, rdb *redis.Client) {
	n := newNode(ctx, rdb.Options().Addr, rdb)
	n.primary = n.addr
	p.nodes = append(p.nodes, n)
	for _, replica := range n.replicas() {
		p.add(ctx, rdb.Options(), net.JoinHostPort(replica["ip"], replica["port"]), n.addr)
	}
}

// findSentinels asks the Sentinels for the primary and its replicas, until one of them knows.
func (p *patient) findSentinels(ctx context.Context, o *redis.FailoverOptions) error {
	servers := &redis.Options{Username: o.Username, Password: o.Password, DB: o.DB, Protocol: o.Protocol, TLSConfig: o.TLSConfig}
	sentinels := &redis.Options{Username: o.SentinelUsername, Password: o.SentinelPassword, Protocol: o.Protocol, TLSConfig: o.TLSConfig}
	var errs []error
	for _, addr := range o.SentinelAddrs {
		sentinel := redis.NewSentinelClient(bounded(sentinels, addr))
		addrs, err := watched(ctx, sentinel, o.MasterName)
		_ = sentinel.Close() // nothing was done that could be lost
		if err == nil {
			for _, addr := range addrs {
				p.add(ctx, servers, addr, addrs[0])
			}
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// watched are the addresses of a primary and its replicas, as a Sentinel knows them.
func watched(ctx context.Context, sentinel *redis.SentinelClient, name string) ([]string, error) {
	primary, err := sentinel.GetMasterAddrByName(ctx, name).Result()
	if err != nil {
		return nil, err
	}
	replicas, err := sentinel.Replicas(ctx, name).Result()
	if err != nil {
		return nil, err
	}
	addrs := []string{net.JoinHostPort(primary[0], primary[1])}
	for _, r := range replicas {
		addrs = append(addrs, net.JoinHostPort(r["ip"], r["port"]))
	}
	return addrs, nil
}

// findCluster asks one node for all of them.
func (p *patient) findCluster(ctx context.Context, rdb *redis.ClusterClient) error {
	var slots []redis.ClusterSlot
	var err error
	for range askedFor { // go-redis takes a node at random, and may take several that are away
		slots, err = rdb.ClusterSlots(ctx).Result() //nolint:staticcheck // users of locks may do that, and Redis 6.2 knows nothing else
		if err == nil || isAnswer(err) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return err
	}
	plain, seen := rights.OfNode(rdb.Options(), ""), map[string]bool{}
	add := func(addr, primary string) {
		if !seen[addr] {
			seen[addr] = true
			p.add(ctx, plain, addr, primary)
		}
	}
	for _, s := range slots {
		for _, one := range s.Nodes {
			add(one.Addr, s.Nodes[0].Addr)
		}
	}
	// Nodes that have failed, or have no slots, are not among these. A user who may not ask for them is told so by the check slots.
	text, _ := rdb.ClusterNodes(ctx).Result()
	for _, one := range membersIn(text) {
		add(one.addr, one.primary)
	}
	return nil
}

// A member is a node of a Cluster as another one knows it.
type member struct{ addr, primary string } // the address of its primary, or its own if it is one

// membersIn reads CLUSTER NODES: id, address, flags, id of the primary, and more.
func membersIn(text string) (all []member) {
	addrs := map[string]string{} // by id
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 8 || strings.Contains(words[2], "noaddr") || strings.Contains(words[2], "handshake") {
			continue
		}
		addr, _, _ := strings.Cut(words[1], "@")
		addrs[words[0]] = addr
		primary := words[3]
		if primary == "-" {
			primary = words[0]
		}
		all = append(all, member{addr, primary})
	}
	for i := range all {
		all[i].primary = addrs[all[i].primary]
	}
	return all
}
