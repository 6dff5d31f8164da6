package doctor

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/rights"
)

// patience is how long one server may take for one answer.
const patience = 3 * time.Second

// A patient is what is looked at: the servers, and what the user has said of them.
type patient struct {
	conn      *cli.Conn
	opts      options
	nodes     []*node   // primaries and replicas
	sentinels []*node   // none without Sentinel
	failover  *failover // nil without Sentinel
	cluster   bool
	screen    *cli.Screen

	keys *harvest // what the scan has found; nil before
}

// A failover is what Sentinels have to be asked about.
type failover struct {
	master string
	opt    *redis.FailoverOptions
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

// bounded are the options of a connection to one server that is not waited for longer than people wait.
func bounded(o redis.Options, addr string) *redis.Client {
	o.Addr, o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.MaxRetries, o.PoolSize = addr, patience, patience, patience, -1, 2
	o.Dialer = nil
	return redis.NewClient(&o)
}

// findSingle looks at one server, and at the replicas of which it knows.
func (p *patient) findSingle(ctx context.Context, rdb *redis.Client) {
	primary := newNode(ctx, rdb.Options().Addr, rdb)
	p.nodes = append(p.nodes, primary)
	for i := 0; ; i++ {
		line, ok := primary.info["slave"+strconv.Itoa(i)]
		if !ok {
			return
		}
		replica := pairs(line)
		addr := net.JoinHostPort(replica["ip"], replica["port"])
		n := newNode(ctx, addr, bounded(*rdb.Options(), addr))
		n.isReplica = true
		p.nodes = append(p.nodes, n)
	}
}

// pairs reads "name=value,name=value".
func pairs(line string) map[string]string {
	all := map[string]string{}
	for _, pair := range strings.Split(line, ",") {
		name, value, _ := strings.Cut(pair, "=")
		all[name] = value
	}
	return all
}

// findSentinels asks the Sentinels for the primary and its replicas.
func (p *patient) findSentinels(ctx context.Context, where string) error {
	opt, err := redis.ParseFailoverURL(where)
	if err != nil {
		return err
	}
	p.failover = &failover{master: opt.MasterName, opt: opt}
	p.askSentinels(ctx, opt.SentinelAddrs)
	plain := redis.Options{
		Username: opt.Username, Password: opt.Password, DB: opt.DB, Protocol: opt.Protocol, TLSConfig: opt.TLSConfig,
	}
	for _, s := range p.sentinels {
		if s.err != nil {
			continue
		}
		sentinel := redis.NewSentinelClient(s.rdb.Options())
		primary, err := sentinel.GetMasterAddrByName(ctx, opt.MasterName).Result()
		replicas, err2 := sentinel.Replicas(ctx, opt.MasterName).Result()
		_ = sentinel.Close() // nothing was done that could be lost
		if err = errors.Join(err, err2); err != nil {
			s.err = err
			continue
		}
		addrs := []string{net.JoinHostPort(primary[0], primary[1])}
		for _, r := range replicas {
			addrs = append(addrs, net.JoinHostPort(r["ip"], r["port"]))
		}
		for i, addr := range addrs {
			n := newNode(ctx, addr, bounded(plain, addr))
			n.isReplica = i > 0
			p.nodes = append(p.nodes, n)
		}
		return nil
	}
	return errors.New("no Sentinel says where the primary and its replicas are")
}

// askSentinels looks at the Sentinels of which we were told, and at those of which they know.
func (p *patient) askSentinels(ctx context.Context, addrs []string) {
	opt := p.failover.opt
	plain := redis.Options{
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
	slots, err := rdb.ClusterSlots(ctx).Result()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	shards := map[string]int{}
	for _, s := range slots {
		for i, one := range s.Nodes {
			if seen[one.Addr] {
				continue
			}
			seen[one.Addr] = true
			first := s.Nodes[0].Addr
			if _, ok := shards[first]; !ok {
				shards[first] = len(shards)
			}
			n := newNode(ctx, one.Addr, bounded(*rights.NodeClient(rdb.Options(), one.Addr).Options(), one.Addr))
			n.isReplica, n.shard = i > 0, shards[first]
			p.nodes = append(p.nodes, n)
		}
	}
	return nil
}
