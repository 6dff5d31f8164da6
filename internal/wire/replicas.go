package wire

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// Replicas are the replicas that must have what a call has written before it counts.
type Replicas struct {
	Wanted int           // how many have to acknowledge; 0: none
	Within time.Duration // how long to wait for them
}

// Replicated is what a call knows of the replicas that it wanted.
type Replicated struct {
	Got   int64
	Err   error // why the number is not known
	Never error // why it is no use to ask again: the user may not, for example
}

// take handles the answer to WAIT.
func (a *Replicated) take(got int64, err error) {
	a.Got, a.Err, a.Never = got, err, nil
	if answer, ok := errors.AsType[redis.Error](err); ok {
		a.Err = NewServerError(answer)
		// A replica refuses WAIT as well: then there was a fail-over in between.
		if Classify(err) == Final && !strings.Contains(answer.Error(), "replica instances") {
			a.Never = err
		}
	}
}

// A replicated sender sends commands to the server of their keys, and behind them, over the same connection, the
// question how many replicas have what they wrote. WAIT names no key, so a Cluster client could not send it to the
// right node. So this sender addresses the nodes itself, and follows their redirections.
type replicated struct {
	conn     *Conn
	replicas Replicas
}

func (r replicated) send(commands []command, withSource func(command) bool) {
	if server, ok := r.conn.direct.(*redis.Client); ok {
		r.exchange(server, commands, withSource, false)
		return
	}
	nodes := make(map[*redis.Client][]command)
	for _, p := range commands {
		node, err := r.conn.node(p.calls()[0].Run.Keys()[0])
		if err != nil {
			p.prepare(clock.Now(), false)
			p.SetErr(err)
			continue
		}
		nodes[node] = append(nodes[node], p)
	}
	for node, commands := range nodes {
		r.exchange(node, commands, withSource, false)
	}
	r.follow(commands, withSource)
}

// follow sends commands that a node of a Cluster has redirected to the other node, once.
func (r replicated) follow(commands []command, withSource func(command) bool) {
	type place struct {
		addr string
		ask  bool // the slot is on its way there
	}
	moved := make(map[place][]command)
	for _, p := range commands {
		if addr, ask, ok := redirection(p.Err()); ok {
			moved[place{addr, ask}] = append(moved[place{addr, ask}], p)
		}
	}
	for to, commands := range moved {
		if !to.ask {
			r.conn.Failed(commands[0].Err())
		}
		if node, leave, ok := r.conn.master(to.addr); ok {
			r.exchange(node, commands, withSource, to.ask)
			leave()
		}
	}
}

// exchange sends commands to a node and waits for its replicas.
func (r replicated) exchange(node *redis.Client, commands []command, withSource func(command) bool, ask bool) {
	ctx, sent, within := context.Background(), clock.Now(), r.replicas.Within
	if read := node.Options().ReadTimeout; read > 0 {
		within = min(within, read/2)
	}
	if len(commands) == 1 { // with the context of its caller, as without replicas
		ctx = context.WithoutCancel(commands[0].context())
	}
	pipe := node.Pipeline()
	for _, p := range commands {
		p.prepare(sent, withSource(p))
		if ask {
			_ = pipe.Process(ctx, redis.NewStatusCmd(ctx, "asking"))
		}
		_ = pipe.Process(ctx, p)
	}
	wait := redis.NewIntCmd(ctx, "wait", r.replicas.Wanted, clock.Millis(within))
	_ = pipe.Process(ctx, wait)
	_, _ = pipe.Exec(ctx) // once: go-redis must not send any command again
	for _, p := range commands {
		for _, c := range p.calls() {
			c.Replicated.take(wait.Val(), wait.Err())
		}
	}
}

// redirection decodes the answer of a Cluster node that does not serve a key.
func redirection(err error) (addr string, ask, ok bool) {
	if err == nil {
		return "", false, false
	}
	f := strings.Fields(err.Error())
	if len(f) != 3 || f[0] != "MOVED" && f[0] != "ASK" {
		return "", false, false
	}
	return f[2], f[0] == "ASK", true
}

// node returns the client of the key's Cluster node, or Ring shard.
func (conn *Conn) node(key string) (*redis.Client, error) {
	if cluster, ok := conn.direct.(masterFinder); ok {
		return cluster.MasterForKey(context.Background(), key)
	}
	return conn.direct.(shardFinder).GetShardClientForKey(key)
}

// master returns the client of a Cluster's node, and a function to call after use. The Cluster client does not know a
// node that has no slots yet: this time it is addressed like the others. It reports false if there is no such node.
func (conn *Conn) master(addr string) (node *redis.Client, leave func(), ok bool) {
	cluster, ok := conn.direct.(*redis.ClusterClient)
	if !ok {
		return nil, nil, false
	}
	var mu sync.Mutex
	var another *redis.Client
	_ = cluster.ForEachMaster(context.Background(), func(_ context.Context, client *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		if another = client; client.Options().Addr == addr {
			node = client
		}
		return nil
	})
	if node != nil || another == nil {
		return node, func() {}, node != nil
	}
	opt := *another.Options()
	opt.Addr, opt.PoolSize, opt.MinIdleConns = addr, 1, 0
	node = redis.NewClient(&opt)
	return node, func() { _ = node.Close() }, true
}
