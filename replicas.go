package redislock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// longestAck is how long a call waits for replicas at most: less than go-redis waits for an answer.
const longestAck = time.Second

// ackPatience is how long a call for a lease of ttl waits for replicas: there has to be something
// left of it.
func ackPatience(ttl time.Duration) time.Duration {
	return max(time.Millisecond, min(ttl/4, longestAck))
}

// An ack is what a call that counts only with replicas knows of them.
type ack struct {
	wanted int           // how many have to acknowledge; 0: none is asked
	within time.Duration // for how long they are to be waited for, or were
	got    int64
	err    error // why that is not known
	never  error // why asking again is of no use: the user may not, for example
}

func newAck(replicas int, ttl time.Duration) ack {
	return ack{wanted: replicas, within: ackPatience(ttl)}
}

// missing says why a call that was executed does not count; nil if it does.
func (a *ack) missing() error {
	switch {
	case a.err != nil:
		return fmt.Errorf("%w: %w", ErrNotReplicated, a.err)
	case a.got < int64(a.wanted):
		return fmt.Errorf("%w: %d of %d replicas acknowledged within %s", ErrNotReplicated, a.got, a.wanted, a.within)
	}
	return nil
}

// take takes in the answer to WAIT.
func (a *ack) take(got int64, err error, within time.Duration) {
	a.got, a.err, a.within, a.never = got, err, within, nil
	if answer, ok := errors.AsType[redis.Error](err); ok {
		a.err = newServerError(answer)
		// A replica refuses it as well: then there has been a fail-over in between.
		if classify(err) == final && !strings.Contains(answer.Error(), "replica instances") {
			a.never = err
		}
	}
}

// A wait asks how many replicas have what its connection has written.
type wait struct{ *redis.IntCmd }

// NoRetry keeps go-redis from sending the pipeline again.
func (wait) NoRetry() bool { return true }

// replicated carries parcels to the server of their keys, and behind them, over the same connection,
// the question how many replicas have what they wrote. WAIT names no key, so a Cluster client could
// not send it where it belongs: here its nodes are addressed, and their redirections followed.
type replicated struct {
	transport *transport
	wanted    int
}

func (r replicated) deliver(parcels []parcel, withSource func(parcel) bool) {
	nodes := make(map[pipeliner][]parcel)
	for _, p := range parcels {
		node, err := r.transport.node(p.calls()[0].keys[0])
		if err != nil {
			p.prepare(now(), false)
			p.SetErr(err)
			continue
		}
		nodes[node] = append(nodes[node], p)
	}
	for node, parcels := range nodes {
		r.exchange(node, parcels, withSource, false)
	}
	r.follow(parcels, withSource)
}

// follow sends what a node of a Cluster has sent elsewhere there, once.
func (r replicated) follow(parcels []parcel, withSource func(parcel) bool) {
	type place struct {
		addr string
		ask  bool // the slot is on its way there
	}
	moved := make(map[place][]parcel)
	for _, p := range parcels {
		if addr, ask, ok := redirection(p.Err()); ok {
			moved[place{addr, ask}] = append(moved[place{addr, ask}], p)
		}
	}
	for to, parcels := range moved {
		if !to.ask {
			r.transport.failed(parcels[0].Err())
		}
		if node := r.transport.master(to.addr); node != nil {
			r.exchange(node, parcels, withSource, to.ask)
		}
	}
}

// exchange sends parcels to a node and waits for its replicas.
func (r replicated) exchange(node pipeliner, parcels []parcel, withSource func(parcel) bool, ask bool) {
	ctx, sent := context.Background(), now()
	pipe, within := node.Pipeline(), time.Duration(0)
	for _, p := range parcels {
		p.prepare(sent, withSource(p))
		if ask {
			_ = pipe.Process(ctx, redis.NewStatusCmd(ctx, "asking"))
		}
		_ = pipe.Process(ctx, p)
		for _, c := range p.calls() {
			within = max(within, c.ack.within)
		}
	}
	if client, ok := node.(*redis.Client); ok && client.Options().ReadTimeout > 0 {
		within = min(within, client.Options().ReadTimeout/2)
	}
	w := wait{redis.NewIntCmd(ctx, "wait", r.wanted, millis(within))}
	_ = pipe.Process(ctx, w)
	_, _ = pipe.Exec(ctx)
	for _, p := range parcels {
		for _, c := range p.calls() {
			c.ack.take(w.Val(), w.Err(), within)
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

// node returns the client of the server where a key is.
func (t *transport) node(key string) (pipeliner, error) {
	switch rdb := t.rdb.(type) {
	case masterFinder:
		return rdb.MasterForKey(context.Background(), key)
	case shardFinder:
		return rdb.GetShardClientForKey(key)
	}
	return t.rdb.(pipeliner), nil
}

// master returns the client of a Cluster's master; nil if it is not known as one yet.
func (t *transport) master(addr string) (node pipeliner) {
	cluster, ok := t.rdb.(interface {
		ForEachMaster(ctx context.Context, fn func(ctx context.Context, client *redis.Client) error) error
	})
	if !ok {
		return nil
	}
	var mu sync.Mutex
	_ = cluster.ForEachMaster(context.Background(), func(_ context.Context, client *redis.Client) error {
		if client.Options().Addr == addr {
			mu.Lock()
			node = client
			mu.Unlock()
		}
		return nil
	})
	return node
}
