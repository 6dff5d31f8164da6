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
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/local"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/rounds"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A Client obtains locks. It is safe for concurrent use, and one Client for each Redis client is enough. A Client
// has goroutines only while a request is under way, a lock is watched, something has to be freed, or somebody
// stands in line, and for 5 s after that.
type Client struct {
	settings
	conn      *wire.Conn
	hub       *listen.Hub
	heard     func(message string) // of the hub
	rounds    rounds.Rounds        // of the waiters in line
	local     local.Lines          // of the Obtains that wait behind one another
	recycled  sync.Pool            // of *call
	placement placement
	schedule  *clock.Schedule
	short     bool         // see isShort
	inLine    atomic.Int64 // Obtains that wait in line, or for others of the Client, or soon
	closed    atomic.Bool
}

// New makes a Client for a *redis.Client, a *redis.ClusterClient, a *redis.Ring, or anything else that can run scripts.
// Of any other type, even one that embeds one of the three, only Eval and EvalSha are used: see [WithWrapped]. New
// sends nothing. The caller closes the Redis client, after the Client. If rdb is nil or a [redis.Pipeliner], every
// operation of the Client returns an error.
func New(rdb redis.Scripter, opts ...ClientOption) *Client {
	c := &Client{
		settings: settings{log: silence{}, maxKeys: defaultMaxKeys},
		schedule: clock.NewSchedule(),
	}
	for _, opt := range opts {
		if opt != nil {
			opt(&c.settings)
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
	c.rounds.Begin(c.conn, c.schedule)
	c.local.Schedule = c.schedule
	c.short = c.isShort()
	return c
}

// listenForBreaks prepares what WithBreakNotices asks for.
func (c *Client) listenForBreaks() {
	switch {
	case c.listen == nil || c.unfit != nil:
	case !c.hub.CanListen():
		c.unfit = fmt.Errorf("%w: WithBreakNotices subscribes, and of a %T only Eval and EvalSha are used: say with WithWrapped what it wraps",
			errors.ErrUnsupported, c.conn.Redis())
	default:
		c.hub.Deaf(func(err error) {
			c.log.Info("redislock: notices of Break are not heard, trying again", "error", wire.Legible(err))
		})
	}
}

// isShort reports whether Obtains and Releases of a Client may go the short way: nobody watches them, and the server is
// asked for nothing beside the keys.
func (c *Client) isShort() bool {
	return c.unfit == nil && !c.hooks.any() && !c.asksServer()
}

// Replicas returns the number of [WithReplicas].
func (c *Client) Replicas() int { return c.replicas }

// MinUptime returns the time of [WithMinUptime].
func (c *Client) MinUptime() time.Duration { return c.minUptime }

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
	c.local.Hasten()
	c.conn.Hasten()
	c.hub.Close()
	for _, rest := range c.schedule.Close() {
		if rest, ok := rest.(interface{ clientClosed() }); ok {
			rest.clientClosed()
		}
	}
	c.conn.Drain()
}

// RedisKey returns the name that a key has in Redis: with the prefix of [WithKeyPrefix].
func (c *Client) RedisKey(key string) string {
	if c == nil || c.prefix == "" {
		return key
	}
	return c.prefix + key
}
