package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/rights"
)

// askedFor is how often a Cluster is asked for its nodes until one of them answers.
const askedFor = 5

// A patient is what is looked at: the servers, and what the user has said of them.
type patient struct {
	conn      *cli.Conn
	opts      options
	nodes     []*node                // primaries and replicas
	sentinels []*node                // none without Sentinel
	failover  *redis.FailoverOptions // what Sentinels have to be asked about; nil without Sentinel
	cluster   bool
	screen    *cli.Screen

	keys *harvest // what the scan has found; nil before
}

// newPatient finds the servers, by the addresses that the servers themselves give.
func newPatient(ctx context.Context, conn *cli.Conn, where string, opts options) (*patient, error) {
	p := &patient{conn: conn, opts: opts}
	var err error
	switch rdb := conn.RDB.(type) {
	case *redis.ClusterClient:
		p.cluster = true
		err = p.findCluster(ctx, rdb)
	case *redis.Client:
		if u, _ := url.Parse(where); u != nil && u.Query().Has("master_name") {
			err = p.findSentinels(ctx, where)
		} else {
			p.findSingle(ctx, rdb)
		}
	}
	return p, err
}

// close ends the connections that the patient has made.
func (p *patient) close() {
	for _, n := range slices.Concat(p.nodes, p.sentinels) {
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

// bounded makes a client of one server that is not waited for longer than people wait, with the credentials of these options.
func bounded(o *redis.Options, addr string) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: addr, DB: o.DB, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig, Protocol: o.Protocol,
		DialTimeout: cli.Reachable, ReadTimeout: cli.Reachable, WriteTimeout: cli.Reachable, MaxRetries: -1, DialerRetries: 1, PoolSize: 2,
	})
}

// findSingle looks at one server, and at the replicas of which it knows.
func (p *patient) findSingle(ctx context.Context, rdb *redis.Client) {
	primary := newNode(ctx, rdb.Options().Addr, rdb)
	p.nodes = append(p.nodes, primary)
	for _, replica := range primary.replicas() {
		p.add(ctx, rdb.Options(), net.JoinHostPort(replica["ip"], replica["port"]), 0, true)
	}
}

// findSentinels asks the Sentinels for the primary and its replicas.
func (p *patient) findSentinels(ctx context.Context, where string) error {
	opt, err := redis.ParseFailoverURL(where)
	if err != nil {
		return err
	}
	p.failover = opt
	p.askSentinels(ctx, opt.SentinelAddrs)
	plain := &redis.Options{
		Username: opt.Username, Password: opt.Password, DB: opt.DB, Protocol: opt.Protocol, TLSConfig: opt.TLSConfig,
	}
	for _, s := range p.sentinels {
		if s.err != nil {
			continue
		}
		addrs, err := s.watched(ctx, opt.MasterName)
		if err != nil {
			s.err = err
			continue
		}
		for i, addr := range addrs {
			p.add(ctx, plain, addr, 0, i > 0)
		}
		return nil
	}
	return errors.New("no Sentinel says where the primary and its replicas are")
}

// watched are the addresses of the primary and its replicas, as a Sentinel knows them.
func (n *node) watched(ctx context.Context, master string) ([]string, error) {
	primary, err := n.rdb.Do(ctx, "sentinel", "get-master-addr-by-name", master).StringSlice()
	if err != nil || len(primary) != 2 {
		return nil, fmt.Errorf("it knows no primary %q: %w", master, cmp.Or(err, error(redis.Nil)))
	}
	replicas := redis.NewMapStringStringSliceCmd(ctx, "sentinel", "replicas", master)
	if err := n.rdb.Process(ctx, replicas); err != nil {
		return nil, err
	}
	addrs := []string{net.JoinHostPort(primary[0], primary[1])}
	for _, r := range replicas.Val() {
		addrs = append(addrs, net.JoinHostPort(r["ip"], r["port"]))
	}
	return addrs, nil
}

// askSentinels looks at the Sentinels of which we were told, and at those of which they know.
func (p *patient) askSentinels(ctx context.Context, addrs []string) {
	opt := p.failover
	plain := &redis.Options{
		Username: opt.SentinelUsername, Password: opt.SentinelPassword, TLSConfig: opt.TLSConfig, Protocol: opt.Protocol,
	}
	for i := 0; i < len(addrs); i++ { // it grows
		s := newNode(ctx, addrs[i], bounded(plain, addrs[i]))
		p.sentinels = append(p.sentinels, s)
		if s.err != nil {
			continue
		}
		cmd := redis.NewMapStringStringSliceCmd(ctx, "sentinel", "sentinels", opt.MasterName)
		_ = s.rdb.Process(ctx, cmd) // one that does not know others says so in the check
		for _, other := range cmd.Val() {
			if addr := net.JoinHostPort(other["ip"], other["port"]); !slices.ContainsFunc(addrs, sameAs(addr)) {
				addrs = append(addrs, addr)
			}
		}
	}
}

// sameAs compares addresses, of which one may be a name.
func sameAs(addr string) func(string) bool {
	host, port, _ := net.SplitHostPort(addr)
	return func(other string) bool {
		if other == addr {
			return true
		}
		otherHost, otherPort, _ := net.SplitHostPort(other)
		ips, err := net.LookupHost(otherHost)
		return port == otherPort && err == nil && slices.Contains(ips, host)
	}
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
	plain := rights.OfNode(rdb.Options(), "")
	shards := map[string]int{} // by the address of any node
	add := func(addr, primary string, otherwise int, isReplica bool) {
		if _, seen := shards[addr]; seen {
			return
		}
		shard, known := shards[primary]
		if !known {
			shard = otherwise
		}
		shards[addr] = shard
		p.add(ctx, plain, addr, shard, isReplica)
	}
	for _, s := range slots {
		for i, one := range s.Nodes {
			add(one.Addr, s.Nodes[0].Addr, len(shards), i > 0)
		}
	}
	// Nodes that have failed are not among these. A user who may not ask for them is told so by the check slots.
	text, _ := rdb.ClusterNodes(ctx).Result()
	for _, one := range membersIn(text) {
		add(one.addr, one.primary, -1, true)
	}
	return nil
}

// add looks at one more server.
func (p *patient) add(ctx context.Context, o *redis.Options, addr string, shard int, isReplica bool) {
	n := newNode(ctx, addr, bounded(o, addr))
	n.isReplica, n.shard = isReplica, shard
	p.nodes = append(p.nodes, n)
}

// A member is a node of a Cluster as another one knows it.
type member struct{ addr, primary string } // the address of its primary; empty if it is one

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
		all = append(all, member{addr, words[3]})
	}
	for i := range all {
		all[i].primary = addrs[all[i].primary]
	}
	return all
}
