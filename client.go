// Package redislock locks whole sets of Redis keys at once, or none of them.
//
// For most uses, [Client.With] is enough. It obtains the keys, runs a function, keeps the lease alive
// meanwhile, and releases the keys:
//
//	client := redislock.New(rdb)
//	err := client.With(ctx, []string{"lock:order:7", "lock:stock:9"}, 10*time.Second, nil,
//		func(ctx context.Context) error { return ship(ctx) }) // ctx ends if the lock is lost
//	if errors.Is(err, redislock.ErrNotObtained) {
//		// somebody else holds a key, and the error says who
//	}
//
// [Client.Obtain] returns the lock itself. [Options] say how to wait and what makes a lock safer.
//
// Packages beside this one:
//
//   - fencing: the resource refuses an older fencing number ([Lock.Fence])
//   - quorum: a lock at a majority of independent servers
//   - multi: sets on several servers, or in several slots of a Cluster, as one lock
//   - reentrant: functions that lock for themselves call one another
//   - election: one leader among processes
//   - held: code that takes a lock of any of these packages
//   - locktest: tests of code that locks, with faults, without a server
//
// What is promised:
//
//   - All or nothing: a set is taken, refreshed and released in one step.
//   - Exclusion: a write key has one holder, a read key has readers only. The windows of conflicting
//     locks, which end with [Lock.Deadline], never overlap.
//   - A loss is told: with a watchdog [Lock.Context] ends by the Deadline, even if Redis is out of reach.
//   - Nothing is left behind: what a failed Obtain may have locked is freed, even if its reply was lost.
//   - Waiting in line is first come, first served: [Options].Queue.
//   - Each fencing number is greater than all before it: [Options].Fenced.
//
// What no Redis lock can promise:
//
//   - Work that begins inside a window can end after it: a process is paused, a network is slow.
//   - A fail-over can lose the newest locks ([WithReplicas]), and so can a restart without the last writes
//     ([WithMinUptime]), eviction, FLUSHALL, or a Ring that loses a shard.
//   - A server clock that jumps ahead ends leases early. One that jumps back keeps keys locked.
//   - A process that is stopped learns of a loss when it wakes up, not before.
//
// Where two holders would do damage, let the resource refuse the older one by its number. docs/format.md
// says what is stored in Redis, docs/proof.md how each promise is tested.
package redislock

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A Client obtains locks. It is safe for concurrent use, and one Client for each Redis client is enough. A Client
// has goroutines only while a request is under way, a lock is watched, something has to be freed, or somebody
// stands in line, and for 5 s after that.
type Client struct {
	conn      *wire.Conn
	hub       *listen.Hub
	heard     func(message string) // of the hub
	rounds    rounds               // of the waiters in line
	recycled  sync.Pool            // of *call
	placement placement
	schedule  *clock.Schedule
	log       logger
	hooks     Hooks
	prefix    string // of every key, of WithKeyPrefix
	metadata  string // of WithMetadata, for each lock that has none of its own
	maxKeys   int
	replicas  int           // of WithReplicas
	minUptime time.Duration // of WithMinUptime
	listen    func(*watch)  // for notices of Break; nil if not asked for
	wraps     wire.GoRedis  // of WithWrapped
	unfit     error         // why nothing can be done with the Redis client
	short     bool          // see isShort
	inLine    atomic.Int64  // Obtains with a place in line, or soon
	closed    atomic.Bool
	ending    chan struct{} // closed by Close
}

// New makes a Client for a *redis.Client, a *redis.ClusterClient, a *redis.Ring, or anything else that can run scripts.
// Of any other type, even one that embeds one of the three, only Eval and EvalSha are used: see [WithWrapped]. New
// sends nothing. The caller closes the Redis client, after the Client. If rdb is nil or a [redis.Pipeliner], every
// operation of the Client returns an error.
func New(rdb redis.Scripter, opts ...ClientOption) *Client {
	c := &Client{
		schedule: clock.NewSchedule(),
		log:      silence{},
		maxKeys:  defaultMaxKeys,
		ending:   make(chan struct{}),
	}
	for _, opt := range opts {
		if opt != nil {
			opt(c)
		}
	}
	if c.unfit = errors.Join(cmp.Or(unfit(rdb), c.unfitToAsk(rdb)), c.unfit); c.unfit != nil {
		rdb, c.wraps = nil, nil // no server is to be asked
	}
	c.conn = wire.New(rdb, wire.Options{Wraps: c.wraps, Bundle: proto.Bundle()})
	c.hub = listen.NewHub(c.conn, c.schedule, owners.NewID())
	c.heard = c.hub.Deliver
	c.listenForBreaks()
	c.placement = placementOf(c.conn)
	c.rounds.begin(c)
	c.short = c.isShort()
	return c
}

// usable reports why the client cannot do anything at all.
func (c *Client) usable() error {
	switch {
	case c == nil:
		return errors.New("the Client is nil")
	case c.conn == nil:
		return errors.New("the Client was not made by New")
	}
	return c.unfit
}

// Close ends everything that the Client does in the background. Watched locks are declared lost, and stay in
// Redis until their TTL ends. Close waits for the requests that are under way, but no longer than the time-outs
// of the Redis client. Afterwards Obtain is a [redis.ErrClosed]; locks can still be released. A Client that holds
// no watched lock and has nobody in line need not be closed.
func (c *Client) Close() {
	if c == nil || c.conn == nil || c.closed.Swap(true) {
		return
	}
	close(c.ending)
	c.conn.Hasten()
	c.hub.Close()
	for _, rest := range c.schedule.Close() {
		switch rest := rest.(type) {
		case *watch:
			rest.lock.lose(wire.ErrClosed)
		case *cleanup:
			rest.Run(clock.Now())
		}
	}
	c.conn.Drain()
}

// Obtain takes the write locks of all keys, or of none. Their ttl is 1 ms to 365 days; a fraction of a millisecond
// above 1 ms is rounded up. Obtain makes one attempt, or as many as its [Options] allow. It returns at the latest 100
// ms after ctx, or the time of [Options].Wait, has ended. If no server answers, it gives up even if ctx does not end:
// docs/waiting.md says when.
//
// If somebody else holds a key the error is an [ErrNotObtained] and a [*ConflictError]. If ctx ended meanwhile,
// the error matches the cause of ctx, too. If no answer came the error is an [ErrUnknownOutcome]. Bad arguments
// are an [ErrInvalid], and nothing is sent. After an error nothing stays locked.
func (c *Client) Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return c.obtain(ctx, "", Set{Write: keys}, ttl, opt)
}

// ObtainRead takes the read locks of all keys, or of none, for ttl. Several readers may hold a key at the
// same time, each with a lease of its own, but no writer. Everything else is as in [Client.Obtain].
func (c *Client) ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return c.obtain(ctx, "", Set{Read: keys}, ttl, opt)
}

// ObtainSet takes the write locks and the read locks of a set, or none of them. Everything else is as
// in [Client.Obtain] and [Client.ObtainRead].
func (c *Client) ObtainSet(ctx context.Context, set Set, ttl time.Duration, opt *Options) (*Lock, error) {
	return c.obtain(ctx, "", set, ttl, opt)
}

// Obtain does what [Client.Obtain] does, with a Client that is made for this one lock.
func Obtain(ctx context.Context, rdb redis.Scripter, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return New(rdb).Obtain(ctx, keys, ttl, opt)
}

// With obtains the keys, runs fn, and releases the keys, even if fn panics. ctx bounds both the waiting and fn. The
// watchdog renews the lease while fn runs. If the lock is lost all the same, the context of fn is cancelled with
// cause [ErrLockLost]. fn finds its lock with [FromContext], and may end it by [Lock.Release] or [Lock.Leave].
//
// If the keys cannot be obtained With returns the error of [Client.Obtain]. If the lock was lost while fn ran it
// returns an [ErrLockLost], joined with the error of fn. Otherwise it returns the error of fn, unchanged.
func (c *Client) With(ctx context.Context, keys []string, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	return c.with(ctx, "", Set{Write: keys}, ttl, opt, fn)
}

// WithSet does what [Client.With] does, with the write locks and the read locks of a set.
func (c *Client) WithSet(ctx context.Context, set Set, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	return c.with(ctx, "", set, ttl, opt, fn)
}

// with does the work of every With.
func (c *Client) with(ctx context.Context, token string, set Set, ttl time.Duration, opt *Options, fn func(context.Context) error) (err error) {
	var watched Options
	if opt != nil {
		watched = *opt
	}
	watched.Watchdog = true
	lock, err := c.obtain(ctx, token, set, ttl, &watched)
	if err != nil {
		return err
	}
	held := lock.Context(ctx)
	defer func() {
		if lock.wasReleased() {
			return // fn has ended the lock, which is in its context
		}
		isLost := lock.isLost()
		switch failed := lock.Release(ctx); {
		case isLost, errors.Is(failed, ErrLockNotHeld):
			err = errors.Join(lock.whyLost(failed), err)
		case failed != nil:
			c.log.WarnContext(ctx, "redislock: release not confirmed", lock.snapshot().logged("error", failed)...)
		}
	}()
	return fn(held)
}

// Attach makes a handle for keys that are held under a token, perhaps by another process. The handle
// releases them, refreshes them, or asks for their TTL. Attach sends nothing, and reports no error: with bad
// keys or a bad token every operation of the handle returns one. The handle knows neither the modes of the
// keys nor their lease, so Deadline and Context count from its first Refresh.
func (c *Client) Attach(keys []string, token string) *Lock {
	if err := c.usable(); err != nil {
		return &Lock{client: c, value: token, faulty: err, sharing: sharing{tokenKnown: true}}
	}
	set, err := c.newKeySet(Set{Write: keys}, nil)
	if err == nil {
		err = c.placement.check(set)
	}
	if err == nil {
		err = checkToken(token)
	}
	return &Lock{
		client: c, set: set, value: token, faulty: err, label: c.newLabel(nil),
		ending: ending{announced: true}, sharing: sharing{tokenKnown: true},
	}
}
