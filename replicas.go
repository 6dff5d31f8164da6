package redislock

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/count"
)

// longestAck is how long a call waits for replicas at most.
const longestAck = time.Second

// An ack is what a call that counts only with replicas knows of them.
type ack struct {
	wanted int           // how many have to acknowledge; 0: none is asked
	within time.Duration // for how long they are waited for
	got    int64
	err    error // why that is not known
	never  error // why asking again is of no use: the user may not, for example
}

// newAck asks for replicas of a lease of ttl, of which something has to be left: so it waits a quarter
// of it at most. Less is rounded down, because calls that wait equally long travel together.
func newAck(replicas int, ttl time.Duration) ack {
	if replicas == 0 {
		return ack{}
	}
	within := longestAck
	if ttl/4 < longestAck {
		ms := uint64(max(1, ttl/4/time.Millisecond))
		within = time.Duration(1<<(bits.Len64(ms)-1)) * time.Millisecond
	}
	return ack{wanted: replicas, within: within}
}

// short says why a call that was executed does not count; nil if it does.
func (a *ack) short() error {
	switch {
	case a.err != nil:
		return fmt.Errorf("%w: %w", ErrNotReplicated, a.err)
	case a.got < int64(a.wanted):
		return fmt.Errorf("%w: %d of %s acknowledged within %s", ErrNotReplicated, a.got, count.Of(a.wanted, "replica"), a.within)
	}
	return nil
}

// take takes in the answer to WAIT.
func (a *ack) take(got int64, err error) {
	a.got, a.err, a.never = got, err, nil
	if answer, ok := errors.AsType[redis.Error](err); ok {
		a.err = newServerError(answer)
		// A replica refuses it as well: then there has been a fail-over in between.
		if classify(err) == final && !strings.Contains(answer.Error(), "replica instances") {
			a.never = err
		}
	}
}

// replicated carries parcels to the server of their keys, and behind them, over the same connection,
// the question how many replicas have what they wrote. WAIT names no key, so a Cluster client could
// not send it where it belongs: here its nodes are addressed, and their redirections followed.
type replicated struct {
	transport *transport
	wanted    int
	within    time.Duration
}

func (r replicated) deliver(parcels []parcel, withSource func(parcel) bool) {
	if server, ok := r.transport.direct.(*redis.Client); ok {
		r.exchange(server, parcels, withSource, false)
		return
	}
	nodes := make(map[*redis.Client][]parcel)
	for _, p := range parcels {
		node, err := r.transport.node(p.calls()[0].keys[0])
		if err != nil {
			p.prepare(clock.Now(), false)
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
		if node, leave := r.transport.master(to.addr); node != nil {
			r.exchange(node, parcels, withSource, to.ask)
			leave()
		}
	}
}

// exchange sends parcels to a node and waits for its replicas.
func (r replicated) exchange(node pipeliner, parcels []parcel, withSource func(parcel) bool, ask bool) {
	ctx, sent, within := context.Background(), clock.Now(), r.within
	if client, ok := node.(interface{ Options() *redis.Options }); ok && client.Options().ReadTimeout > 0 {
		within = min(within, client.Options().ReadTimeout/2)
	}
	if len(parcels) == 1 { // with the context of its caller, as without replicas
		ctx = context.WithoutCancel(parcels[0].contents().ctx)
	}
	pipe := node.Pipeline()
	for _, p := range parcels {
		p.prepare(sent, withSource(p))
		if ask {
			_ = pipe.Process(ctx, redis.NewStatusCmd(ctx, "asking"))
		}
		_ = pipe.Process(ctx, p)
	}
	wait := redis.NewIntCmd(ctx, "wait", r.wanted, clock.Millis(within))
	_ = pipe.Process(ctx, wait)
	_, _ = pipe.Exec(ctx) // once: of parcels none may be sent again by go-redis
	for _, p := range parcels {
		for _, c := range p.calls() {
			c.ack.take(wait.Val(), wait.Err())
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

// node returns the client of the Cluster's node, or the Ring's shard, where a key is.
func (t *transport) node(key string) (*redis.Client, error) {
	if cluster, ok := t.direct.(masterFinder); ok {
		return cluster.MasterForKey(context.Background(), key)
	}
	return t.direct.(shardFinder).GetShardClientForKey(key)
}

// master returns the client of a Cluster's node, and what to do when it was used. One that has no
// slots yet the Cluster client does not know: it is addressed as the others are, for this once.
func (t *transport) master(addr string) (node *redis.Client, leave func()) {
	cluster, ok := t.direct.(*redis.ClusterClient)
	if !ok {
		return nil, nil
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
		return node, func() {}
	}
	opt := *another.Options()
	opt.Addr, opt.PoolSize, opt.MinIdleConns = addr, 1, 0
	node = redis.NewClient(&opt)
	return node, func() { _ = node.Close() }
}
