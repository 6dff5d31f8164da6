package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// DefaultTries is how often a call is sent when the connection fails or the server is not ready, if the Redis client
// does not say: as often as go-redis sends it by default.
const DefaultTries = 4

// ErrClosed is the error of operations that a Close has ended.
var ErrClosed = fmt.Errorf("the client is closed: %w", redis.ErrClosed)

// Options of a Conn.
type Options struct {
	Wraps  GoRedis // what a client of another type than go-redis' own wraps; nil: not known
	Bundle *Bundle // nil: there is none
}

// A GoRedis is exactly one of the clients of go-redis: see [IsGoRedis]. It is no redis.UniversalClient, which names
// every command: a program has to carry what an interface names.
type GoRedis interface{ pooled }

// A Conn brings calls to Redis, over a lane for each server, and counts the calls that are under way. It is safe for
// concurrent use.
type Conn struct {
	rdb     redis.Scripter
	direct  GoRedis // may be used past Eval and EvalSha of rdb; nil: nothing may
	wrapped bool    // rdb has a type of its own: calls go through these alone
	single  bool    // it is a client of one server
	tries   int     // for each call

	timeouts timeouts

	identity any // the Redis client itself, if it can be compared

	setup laneSetup
	main  *lane    // for a client of one server, and while it is not known which server it will be
	alone *lane    // behind a wrapped client, for calls that share no script, so that none waits for another
	lanes sync.Map // *redis.Client, or destination with replicas → *lane
	warm  atomic.Bool

	under    atomic.Int64 // calls not yet finished
	draining atomic.Bool  // a Close waits: no call may wait for long
	idle     chan struct{}
}

// New makes the Conn of a Redis client. If the client has a type of its own, it may wrap another one that its user
// names.
func New(rdb redis.Scripter, opt Options) *Conn {
	conn := &Conn{
		rdb: rdb, tries: DefaultTries, idle: make(chan struct{}, 1),
		setup: laneSetup{limit: math.MaxInt, bundle: opt.Bundle, virtual: clock.IsVirtual()},
	}
	if conn.identity = rdb; !reflect.ValueOf(rdb).Comparable() {
		conn.identity = conn
	}
	switch client := rdb.(type) {
	case *redis.Client:
		conn.setup.sender = pipeline{client.Process, client.Pipeline}
		conn.setup.bundles, conn.tries, conn.single = true, client.Options().MaxRetries+1, true
	case *redis.ClusterClient:
		conn.setup.sender = pipeline{client.Process, client.Pipeline}
	case *redis.Ring:
		conn.setup.sender, conn.tries = pipeline{client.Process, client.Pipeline}, client.Options().MaxRetries+1
	default:
		conn.setup.sender = plainClient{rdb, pools(rdb, opt.Wraps)}
		conn.wrapped, conn.direct, conn.setup.bundles = true, opt.Wraps, opt.Wraps != nil
	}
	if !conn.wrapped {
		conn.direct = rdb.(GoRedis) // not one of the above: their methods would be linked into every program
	}
	conn.timeouts = timeoutsOf(rdb)
	conn.alone = conn.newLane(conn.setup.sender, 0)
	if conn.direct != nil { // calls go out together
		conn.setup.limit = underWay
	}
	conn.main = conn.newLane(conn.setup.sender, 0)
	return conn
}

// Redis returns the Redis client.
func (conn *Conn) Redis() redis.Scripter { return conn.rdb }

// Wrapped reports whether the Redis client has a type of its own, so that only its Eval and EvalSha are
// used.
func (conn *Conn) Wrapped() bool { return conn.wrapped }

// A Kind says which keys one script can be given.
type Kind int

const (
	// Single takes any keys: it is one server.
	Single Kind = iota
	// Cluster takes keys of one slot.
	Cluster
	// Ring takes keys that are certain to be on one shard.
	Ring
)

// Kind goes by what the client can do, and by what it is known to wrap. So a client that embeds a Ring or a
// ClusterClient counts as one.
func (conn *Conn) Kind() Kind {
	for _, rdb := range []any{conn.rdb, conn.direct} {
		switch rdb.(type) {
		case masterFinder:
			return Cluster
		case shardFinder:
			return Ring
		}
	}
	return Single
}

// Identity is the same for all Conns of one Redis client.
func (conn *Conn) Identity() any { return conn.identity }

// A masterFinder is a *redis.ClusterClient, or embeds one.
type masterFinder interface {
	MasterForKey(ctx context.Context, key string) (*redis.Client, error)
}

// A shardFinder is a *redis.Ring, or embeds one.
type shardFinder interface {
	GetShardClientForKey(key string) (*redis.Client, error)
}

// A Subscriber is the part of a Redis client that subscribes.
type Subscriber interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
	SSubscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// errCold says that a Cluster client has not answered yet, so that finding a node may take long.
var errCold = errors.New("the nodes of the Cluster are not known yet")

// A Source is where to subscribe to news of keys.
type Source struct {
	Of      func(key string) (Subscriber, error) // finds the server; nil if the client cannot subscribe
	Tagged  bool                                 // a channel has to be where the key is
	Sharded bool                                 // by sharded pub/sub
}

// Source returns where to subscribe to news of keys.
func (conn *Conn) Source() Source {
	switch rdb := conn.direct.(type) {
	case masterFinder:
		return Source{Tagged: true, Sharded: true, Of: func(key string) (Subscriber, error) {
			if !conn.warm.Load() {
				return nil, errCold
			}
			return rdb.MasterForKey(context.Background(), key)
		}}
	case shardFinder:
		return Source{Tagged: true, Of: func(key string) (Subscriber, error) { return rdb.GetShardClientForKey(key) }}
	case Subscriber:
		return Source{Of: func(string) (Subscriber, error) { return rdb, nil }}
	}
	return Source{}
}

// Start sends a call and returns: its Then takes the outcome.
func (conn *Conn) Start(c *Call) { conn.send(c, false) }

// Ask sends a call that a caller is going to wait for, with Await.
func (conn *Conn) Ask(c *Call) {
	conn.allow(c)
	conn.send(c, false)
}

// Await waits for the outcome of a call. It returns false if ctx has ended and patience has run out before. Then the
// caller has to abandon the call.
func (conn *Conn) Await(ctx context.Context, c *Call, patience time.Duration) bool {
	return conn.await(ctx, c, 0, patience) == Settled
}

func (conn *Conn) send(c *Call, inline bool) {
	conn.under.Add(1)
	c.conn = conn
	conn.lane(c).send(c, inline)
}

// allow prepares a call with a waiting caller: it may be sent again.
func (conn *Conn) allow(c *Call) {
	if c.done == nil {
		c.done = make(chan struct{}, 1)
	}
	c.tries = conn.tries - 1
	c.WaitForSlot = cmp.Or(c.WaitForSlot, longestMove)
}

// Failed notes that the connection for a call failed. A Cluster client that may not send the call again by itself does
// not look for the new place of the key either.
func (conn *Conn) Failed(err error) {
	if cluster, ok := conn.direct.(*redis.ClusterClient); ok && Classify(err) != Final {
		cluster.ReloadState(context.Background())
	}
}

// finished takes one call off the account.
func (conn *Conn) finished() {
	if conn.under.Add(-1) == 0 && conn.draining.Load() {
		select {
		case conn.idle <- struct{}{}:
		default:
		}
	}
}

// Hasten has calls that are under way end soon, until Drain has waited for them.
func (conn *Conn) Hasten() { conn.draining.Store(true) }

// Drain waits until no call is under way. It is to be called once, after Hasten.
func (conn *Conn) Drain() {
	for conn.under.Load() > 0 {
		<-conn.idle
	}
	conn.draining.Store(false) // later requests have time
}

// A destination is where a lane leads: a server, and the replicas that must have what is sent there.
type destination struct {
	server   *redis.Client // nil: the only server, or not known
	replicas Replicas
}

// lane picks the lane of a call by the server of its key. So a server that hangs delays its own calls only, and slow
// replicas delay only calls that wait for them as long. It never waits for the network. Until a Cluster client has
// answered for the first time it does not know its nodes, and its calls share one lane.
func (conn *Conn) lane(c *Call) *lane {
	l := conn.main
	if !conn.single || c.Replicas.Wanted > 0 {
		l = conn.laneTo(c)
	}
	if c.Repeats && l.repeats != nil {
		return l.repeats
	}
	return l
}

// laneTo returns the lane to the server of a call, if there may be several.
func (conn *Conn) laneTo(c *Call) *lane {
	if conn.wrapped && !conn.shares(c) {
		return conn.alone
	}
	to := destination{replicas: c.Replicas}
	switch rdb := conn.direct.(type) {
	case masterFinder:
		if conn.warm.Load() {
			to.server, _ = rdb.MasterForKey(context.Background(), c.Run.Keys()[0])
		}
	case shardFinder:
		to.server, _ = rdb.GetShardClientForKey(c.Run.Keys()[0])
	}
	var name any = to.server // a pointer is looked up without an allocation
	switch {
	case to.replicas.Wanted > 0:
		name = to
	case to.server == nil:
		return conn.main
	}
	if l, ok := conn.lanes.Load(name); ok {
		return l.(*lane)
	}
	l := conn.newLane(conn.setup.sender, 0)
	if to.replicas.Wanted > 0 {
		l = conn.newLane(replicated{conn, to.replicas}, to.replicas.Within) // nothing hangs before that
	}
	used, _ := conn.lanes.LoadOrStore(name, l)
	return used.(*lane)
}

// shares reports whether a call behind a wrapped client may share a script with others. All of its keys are in the
// place of the first one.
func (conn *Conn) shares(c *Call) bool {
	return c.Plain && (conn.Kind() == Single || slot.IsTagged(c.Run.Keys()[0]))
}

// newLane makes a lane of calls that may take so much longer than usual. If calls can gather there and wait behind
// others, it has a second lane beside it for callers that ask again. So a Release never waits behind the callers that
// it keeps waiting.
func (conn *Conn) newLane(s sender, longer time.Duration) *lane {
	l := conn.oneLane(s, longer)
	if l.limit == underWay {
		l.repeats = conn.oneLane(s, longer)
		l.repeats.limit = repeatsUnderWay
		l.repeats.sharing.Store(false)
	}
	return l
}

func (conn *Conn) oneLane(s sender, longer time.Duration) *lane {
	l := &lane{laneSetup: conn.setup, overdue: overdue + longer}
	l.sender, l.tagged = s, conn.wrapped && conn.Kind() != Single
	l.sharing.Store(conn.setup.bundles)
	return l
}
