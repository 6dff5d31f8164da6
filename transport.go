package redislock

import (
	"cmp"
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// defaultTries is how often a call is sent when the connection fails or the server is not ready,
// if the Redis client does not say: as often as go-redis does by default.
const defaultTries = 4

// A transport brings calls to Redis, over a lane for each server, and keeps account of those that
// are under way.
type transport struct {
	rdb     redis.Scripter
	direct  redis.UniversalClient // what may be used past Eval and EvalSha of rdb; nil: nothing may
	wrapped bool                  // rdb has a type of its own: calls go through these alone
	courier courier
	limit   int  // of batches under way in a lane
	bundles bool // plain calls of a lane may share a script
	tries   int  // for each call

	main  *lane    // for a client of one server, and while it is not known which server it will be
	alone *lane    // behind a wrapped client, for calls that share no script: none waits for another
	lanes sync.Map // *redis.Client, or destination with replicas → *lane
	warm  atomic.Bool

	recycled sync.Pool // of *call

	under    atomic.Int64 // calls not yet finished
	draining atomic.Bool  // a Close waits: no call is to wait for long
	idle     chan struct{}
}

// newTransport makes the transport of a client, that wraps another one if it has a type of its own and
// its user says so.
func newTransport(rdb redis.Scripter, wraps redis.UniversalClient, batching bool) *transport {
	t := &transport{rdb: rdb, limit: math.MaxInt, tries: defaultTries, idle: make(chan struct{}, 1)}
	switch rdb := rdb.(type) {
	case *redis.Client:
		t.direct, t.bundles, t.tries = rdb, true, rdb.Options().MaxRetries+1
	case *redis.ClusterClient:
		t.direct = rdb
	case *redis.Ring:
		t.direct, t.tries = rdb, rdb.Options().MaxRetries+1
	default:
		t.wrapped, t.direct, t.bundles = true, wraps, wraps != nil
	}
	if t.wrapped {
		t.courier = scripted{rdb, pools(rdb, wraps)}
	} else {
		t.courier = piped{t.direct}
	}
	t.alone = t.newLane()
	if batching && t.direct != nil {
		t.limit = underWay
	}
	t.main = t.newLane()
	return t
}

// placement says which sets this kind of client can lock. It goes by what the client can do, so
// that one that embeds a Ring or a ClusterClient counts as one, and by what it is known to wrap.
func (t *transport) placement() placement {
	for _, rdb := range []any{t.rdb, t.direct} {
		switch rdb.(type) {
		case masterFinder:
			return bySlot
		case shardFinder:
			if t.wrapped {
				return byBraces
			}
			return byTag
		}
	}
	return anywhere
}

// A masterFinder is a *redis.ClusterClient, or embeds one.
type masterFinder interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
}

// A shardFinder is a *redis.Ring, or embeds one.
type shardFinder interface {
	GetShardClientForKey(key string) (*redis.Client, error)
}

// start sends a call and returns; what comes then takes the outcome.
func (t *transport) start(c *call) { t.send(c, false) }

func (t *transport) send(c *call, inline bool) {
	t.under.Add(1)
	c.transport = t
	t.lane(c).send(c, inline)
}

// do sends a call and waits for its outcome. It returns false if ctx has ended and patience has
// run out before; then the caller has to leave the call.
func (t *transport) do(ctx context.Context, c *call, patience time.Duration) bool {
	t.allow(c)
	t.send(c, ctx.Done() == nil)
	return c.wait(ctx, patience)
}

// allow prepares a call that a caller waits for: it may be sent again.
func (t *transport) allow(c *call) {
	if c.done == nil {
		c.done = make(chan struct{}, 1)
	}
	c.tries = t.tries - 1
	c.rides = cmp.Or(c.rides, longestMove)
}

// failed takes note that the connection for a call failed: a Cluster client that may not send
// the call again by itself does not look for the new place of the key either.
func (t *transport) failed(err error) {
	if cluster, ok := t.direct.(*redis.ClusterClient); ok && classify(err) != final {
		cluster.ReloadState(context.Background())
	}
}

// finished takes one call off the account.
func (t *transport) finished() {
	if t.under.Add(-1) == 0 && t.draining.Load() {
		select {
		case t.idle <- struct{}{}:
		default:
		}
	}
}

// hasten has calls that are under way end soon, until drain has waited for them.
func (t *transport) hasten() { t.draining.Store(true) }

// drain waits until no call is under way. It is to be called once, after hasten.
func (t *transport) drain() {
	for t.under.Load() > 0 {
		<-t.idle
	}
	t.draining.Store(false) // what is released later has time
}

// A destination is where a lane leads: a server, and how many replicas have to have what is sent there.
type destination struct {
	server   *redis.Client // nil: the one there is, or it is not known which
	replicas int
	within   time.Duration // for which they are waited for
}

// lane picks the lane of a call, by its key's server, so that a server that hangs holds up its own
// calls only, and one whose replicas do only those that wait for them as long. It never waits for the network:
// until a Cluster client has answered for the first time and so knows its nodes, its calls share one
// lane.
func (t *transport) lane(c *call) *lane {
	if t.wrapped && !t.shares(c) {
		return t.alone
	}
	to := destination{replicas: c.ack.wanted, within: c.ack.within}
	switch rdb := t.direct.(type) {
	case masterFinder:
		if t.warm.Load() {
			to.server, _ = rdb.MasterForKey(context.Background(), c.keys[0])
		}
	case shardFinder:
		to.server, _ = rdb.GetShardClientForKey(c.keys[0])
	}
	if to == (destination{}) {
		return t.main
	}
	var name any = to.server // a pointer is looked up without an allocation
	if to.replicas > 0 {
		name = to
	}
	if l, ok := t.lanes.Load(name); ok {
		return l.(*lane)
	}
	l := t.newLane()
	if to.replicas > 0 {
		l.courier = replicated{t, to.replicas, to.within}
		l.overdue += to.within // nothing hangs before that
	}
	used, _ := t.lanes.LoadOrStore(name, l)
	return used.(*lane)
}

func (t *transport) newLane() *lane {
	l := &lane{courier: t.courier, limit: t.limit, overdue: overdue, tagged: t.wrapped && t.placement() != anywhere}
	l.bundles.Store(t.bundles)
	return l
}

// A courier carries parcels to the server, and returns when each is answered or has failed. For
// each of them withSource says whether the script itself goes along.
type courier interface {
	deliver(parcels []parcel, withSource func(parcel) bool)
}

func byName(parcel) bool   { return false }
func bySource(parcel) bool { return true }

// A pipeliner is what a Redis client has to offer for calls to travel together.
type pipeliner interface {
	Process(ctx context.Context, cmd redis.Cmder) error
	Pipeline() redis.Pipeliner
}

// piped carries parcels as one pipeline.
type piped struct{ rdb pipeliner }

func (d piped) deliver(parcels []parcel, withSource func(parcel) bool) {
	sent := clock.Now()
	for _, p := range parcels {
		p.prepare(sent, withSource(p))
	}
	switch len(parcels) {
	case 0:
	case 1:
		// With the context of its caller, for what the hooks of the Redis client find there.
		_ = d.rdb.Process(parcels[0].contents().ctx, parcels[0])
	default:
		ctx := context.Background()
		pipe := d.rdb.Pipeline()
		for _, p := range parcels {
			_ = pipe.Process(ctx, p)
		}
		_, _ = pipe.Exec(ctx)
	}
}

// all sends calls together, waits for each of them and hands it to take.
func (t *transport) all(ctx context.Context, calls []*call, take func(int) error) error {
	for _, c := range calls {
		t.allow(c)
		t.start(c)
	}
	var first error
	for i, c := range calls {
		if !c.wait(ctx, 0) && c.leave(nil) {
			if first == nil {
				first = interrupted(ctx, c.script.Name(), keySet{keys: c.keys})
			}
			continue
		}
		if err := take(i); err != nil && first == nil {
			first = err
		}
	}
	return first
}
