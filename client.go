// Package redislock locks whole sets of Redis keys at once, or none of them.
//
//	client := redislock.New(rdb)
//	lock, err := client.Obtain(ctx, []string{"lock:order:7", "lock:stock:9"}, 10*time.Second, nil)
//	if err != nil {
//		return err // errors.Is(err, redislock.ErrNotObtained): somebody else has one; it says who
//	}
//	defer lock.Release(ctx)
//
// [Client.With] does the same around a function and keeps the lease alive while the function runs.
// It is what most callers want. The function finds its lock with [FromContext], and so the fencing
// number that its writes need.
//
// A lock is a key of its own, so give it a name that no data has, such as lock:order:7;
// [WithKeyPrefix] puts lock: in front of every key. Data under the name of a lock is never overwritten,
// but then nobody can have the lock.
//
// # What is in Redis
//
// A write-locked key is a string: `token`; or `token|metadata`; or `token||id|metadata` if there is an
// owner id ([WithOwner]), or the metadata begins with a '|', when the id may be empty. A read-locked key is
// a sorted set with such a member for each reader. The score of a member is the end of that reader's own
// lease, in milliseconds of the server's clock. Owners are compared by whole token, never by prefix. A
// value without its token is that of a key that its owner has left ([Lock.Leave]).
//
// Three more keys can stand beside a lock key, in the slot of that key:
//
//   - `redislock:line:{key}` is a sorted set of those who stand in line for the key with
//     [Options].Queue. It also holds guards, see below.
//   - `redislock:intent:{key}` is a string, the value of a writer that waits with [Options].Intent.
//   - `redislock:fence:{key}` is a hash of the fencing numbers that were given for the key.
//
// Their names differ if the key itself has a '}'. If it has a hash tag its line is
// `redislock:line=key`. If it has a '}' but no hash tag its line is `redislock:line~{tag}key`, with
// a short tag of the same slot. Intents and fencing numbers are named in the same way.
//
// Each of these keys, and each lock key, has a TTL from its first instant.
//
// Each operation on a set is one script. To send it twice in a row has the same effect as to send
// it once. A request that was not answered may reach the server late, after other requests. So the
// next request of the same owner closes it with a guard: a member of the line of the set's first
// key, which says that no request of this owner with a smaller number is to be executed. A guard
// ends after five minutes. Nobody waits for late requests, and without faults there are no guards.
//
// # What is promised
//
//   - All or nothing: a set is taken, refreshed and released in one step. Others never see a part
//     of it.
//   - Exclusion: a write key has one holder, a read key has readers only.
//   - A returned lock is live: its window runs from before the request was sent until
//     [Lock.Deadline]. Windows of conflicting locks never overlap, as long as server clocks do not
//     jump, the server keeps the keys, and no fail-over loses a write.
//   - The holder learns of a loss: with a watchdog, [Lock.Context] is cancelled with cause
//     [ErrLockLost] no later than the deadline, even if Redis cannot be reached, and even after the
//     machine has slept.
//   - Nothing is left behind: what an Obtain that failed may have locked is freed, even if its
//     reply was lost or its context is cancelled. A Release frees every key that is still ours.
//   - Those who queue are served first come, first served. The release hands the lock over to the
//     next one, and nothing depends on a message arriving.
//   - Fencing: with [Options].Fenced each lock has a number that is greater than all before it.
//   - One error for one fact: see [ErrNotObtained], [ErrLockNotHeld], [ErrUnknownOutcome].
//
// # What no Redis lock can promise
//
//   - Work that begins inside a window can end after it, because the process is paused or the
//     network is slow. The library cancels the context. A request that is already on its way to
//     another system still arrives there.
//   - Replication is asynchronous. A primary that fails can take the newest locks with it, and a
//     primary that was cut off and wakes up goes on granting locks until it is told that it was
//     replaced. The holder learns of the loss at the next renewal. Neither happens if a lock counts
//     only once all replicas have it ([Options].Replicas), as long as no replica's clock is ahead
//     of the primary's.
//   - A server that restarts without its last writes gives away what others hold, unless
//     [Options].MinUptime prevents it. Only appendfsync always keeps every write.
//   - A server clock that jumps ahead ends leases early. One that jumps back keeps keys locked.
//   - A process that is stopped learns of a loss when it wakes up, not before.
//   - A Ring that loses a shard moves the keys of that shard to another one, which knows nothing of
//     their locks.
//   - Eviction, FLUSHALL and anybody who deletes a key remove locks. Give locks a server, or at
//     least a database, with maxmemory-policy noeviction.
//
// Where two holders would do damage, let the resource itself refuse the older one, by its
// [Lock.Fence].
//
// The models in proof/models/lease and proof/models/late try every order in which requests, answers
// and pauses may come, with and without what is said here.
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

// A Client obtains locks. It is safe for concurrent use, and one Client for each Redis client is
// enough: what several goroutines ask for at the same time travels together. A Client has
// goroutines only while a request is under way, a lock is watched, something has to be freed, or
// somebody stands in line, and for 5 s after that.
type Client struct {
	conn      *wire.Conn
	hub       *listen.Hub
	heard     func(message string) // of the hub
	rounds    rounds               // of those who stand in line
	recycled  sync.Pool            // of *call
	placement placement
	schedule  *clock.Schedule
	log       logger
	hooks     Hooks
	prefix    string // of every key, of WithKeyPrefix
	metadata  string // of each lock that has none of its own, of WithMetadata
	maxKeys   int
	replicas  int           // of WithReplicas
	minUptime time.Duration // of WithMinUptime
	listen    func(*watch)  // to notices of Break; nil: nobody has asked for that
	wraps     wire.GoRedis  // of WithWrapped
	unfit     error         // why nothing can be done with the Redis client
	closed    atomic.Bool
	ending    chan struct{} // closed by Close
}

// New makes a Client for a *redis.Client (of a single server, or from NewFailoverClient for
// Sentinel), a *redis.ClusterClient, a *redis.Ring, or anything else that can run scripts. New
// sends nothing. The caller closes the Redis client, after the Client. If rdb is nil or a
// [redis.Pipeliner], every operation of the Client returns an error.
//
// With exactly these three types the Client uses more of go-redis than its scripting methods. With
// any other type, even one that embeds one of the three, it uses Eval and EvalSha of that type
// alone. So whatever the type does to keys and commands happens to those of locks as well: a prefix
// for each service, counting, injected faults. Then calls do not travel together,
// [Options].Replicas and MinUptime are an [errors.ErrUnsupported], and Queue is one without
// [WithWrapped]. Such a client
//
//   - must change a key in the same way in every call, whatever the context is: renewals and
//     clean-ups do not have the caller's context;
//   - is given the names beside the keys, such as redislock:line:{key}, as if they were keys.
//     Behind a prefix they are other names, so only processes with the same prefix share lines,
//     intents and fencing numbers;
//   - needs hash tags in the keys of a Cluster if it changes keys. Otherwise these names are in
//     other slots than their keys, which is an [ErrCrossSlot]. A '}' alone, as in "a}b", is no hash
//     tag. The same holds for sets of several keys on a Ring;
//   - should not send a command again by itself. Set MaxRetries to -1 in the options of what it
//     wraps; for a *redis.ClusterClient that is not enough. The Client sends again by itself, and
//     then knows what may have been executed. If the wrapped client sends again, a Release whose
//     first answer was lost can return [ErrLockNotHeld]; and after a call that may have been sent
//     twice the next call sets a guard. The Client takes a call to be one of these if the wrapped
//     client gave up a connection meanwhile or, where it has no PoolStats and there is no
//     [WithWrapped], if the call took longer than 5 ms.
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
		rdb, c.wraps = nil, nil // nobody is to be asked
	}
	c.conn = wire.New(rdb, wire.Options{Wraps: c.wraps, Bundle: proto.Bundle()})
	c.hub = listen.NewHub(c.conn, c.schedule, owners.NewID())
	c.heard = c.hub.Deliver
	c.listenForBreaks()
	c.placement = placementOf(c.conn)
	c.rounds.begin(c)
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

// Close ends everything that the Client does in the background. Locks are not renewed any more;
// watched locks are declared lost, and stay in Redis until their TTL ends. Whatever still has to be
// freed is tried once more. The log has no warning of these losses, because whoever closes a Client
// means it. Close waits for the requests that are under way, but no longer than the time-outs of
// the Redis client. Afterwards Obtain returns an error that is [redis.ErrClosed]; locks can still
// be released.
//
// A Client that holds no watched lock and has nobody in line need not be closed.
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

// Obtain takes the write locks of all keys, or of none, for ttl. The ttl is 1 ms to 365 days; a
// fraction of a millisecond above that is rounded up.
//
// Obtain makes one attempt, or as many as the RetryStrategy of its options allows, and returns at
// the latest 100 ms after ctx, or the time of [Options].Wait, has ended. While the connection fails
// or the server is not ready, an attempt sends its request again, for one to three seconds. While the
// slot of the keys is moving to another server of a Cluster, it does so for 10 s, because the servers
// refuse a request for several keys until all of them have moved. If no server answers, Obtain gives up even if ctx does
// not end: after the ttl, because a lock that is granted later is of no use, or after one read
// time-out of the Redis client (5 s if it has none, or does not say) if that is longer.
//
// If somebody else holds a key the error is an [ErrNotObtained] and a [*ConflictError] that names
// the key. If ctx ended meanwhile, the error matches the cause of ctx, too. If no answer came the
// error is an [ErrUnknownOutcome]. Bad arguments are refused before anything is sent. After an
// error nothing stays locked.
func (c *Client) Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return c.obtain(ctx, "", Set{Write: keys}, ttl, opt)
}

// ObtainRead takes the read locks of all keys, or of none, for ttl. Several readers may hold a key
// at the same time, each with a lease of its own, but no writer. Everything else is as in
// [Client.Obtain].
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

// With obtains the keys, runs fn, and releases the keys, even if fn panics. ctx bounds both the
// waiting and fn; to bound the waiting alone, use [Options].Wait. While fn runs the watchdog renews
// the lease. If the lock is lost all the same, the context of fn is cancelled with cause
// [ErrLockLost]. fn finds its lock with [FromContext], and may end it before With does, by
// [Lock.Release] or [Lock.Leave].
//
// If the keys cannot be obtained With does not run fn, and returns the error of [Client.Obtain]. If
// the lock was lost while fn ran it returns an [ErrLockLost], joined with the error of fn.
// Otherwise it returns the error of fn, unchanged. A Release that could not be confirmed is logged,
// and goes on in the background.
func (c *Client) With(ctx context.Context, keys []string, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	return with(ctx, c, Set{Write: keys}, ttl, opt, fn)
}

// WithSet does what [Client.With] does, with the write locks and the read locks of a set.
func (c *Client) WithSet(ctx context.Context, set Set, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	return with(ctx, c, set, ttl, opt, fn)
}

// An obtainer is a Client or an Owner.
type obtainer interface {
	ObtainSet(ctx context.Context, set Set, ttl time.Duration, opt *Options) (*Lock, error)
}

// with is what every With comes to.
func with(ctx context.Context, by obtainer, set Set, ttl time.Duration, opt *Options, fn func(context.Context) error) (err error) {
	var watched Options
	if opt != nil {
		watched = *opt
	}
	watched.Watchdog = true
	lock, err := by.ObtainSet(ctx, set, ttl, &watched)
	if err != nil {
		return err
	}
	held := lock.Context(ctx)
	defer func() {
		if lock.wasReleased() {
			return // by fn, which has found it in its context
		}
		isLost := lock.isLost()
		switch failed := lock.Release(ctx); {
		case isLost, errors.Is(failed, ErrLockNotHeld):
			err = errors.Join(lock.whyLost(failed), err)
		case failed != nil:
			lock.client.log.WarnContext(ctx, "redislock: release not confirmed", lock.snapshot().logged("error", failed)...)
		}
	}()
	return fn(held)
}

// Attach makes a handle for keys that are held under a token, perhaps by another process, to
// release them, refresh them, or ask for their TTL. Attach sends nothing, and reports no error:
// with bad keys or a bad token every operation of the handle returns one. The handle knows neither
// the modes of the keys nor their lease, so Deadline and Context count from its first Refresh.
func (c *Client) Attach(keys []string, token string) *Lock {
	if err := c.usable(); err != nil {
		return &Lock{client: c, value: token, faulty: err, sharing: sharing{tokenKnown: true}}
	}
	set, err := c.newKeySet(Set{Write: keys})
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
