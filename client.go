// Package redislock locks whole sets of Redis keys at once, or none of them.
//
//	client := redislock.New(rdb)
//	lock, err := client.Obtain(ctx, []string{"order:7", "stock:9"}, 10*time.Second, nil)
//	if err != nil {
//		return err // errors.Is(err, redislock.ErrNotObtained): somebody else has one; it says who
//	}
//	defer lock.Release(ctx)
//
// [Client.With] does the same around a function and keeps the lease alive while it runs: what most
// callers want.
//
// # What is in Redis
//
// A write-locked key is a string, `token` or `token|metadata`. A read-locked key is a sorted set
// with such a member for each reader, scored with the end of that reader's own lease in
// milliseconds of the server's clock. Beside a key, in its slot, are `redislock:line:{key}`, a
// sorted set of who stands in line for it with [Options].Queue; `redislock:intent:{key}`, the value
// of a writer that waits with [Options].Intent; and `redislock:fence:{key}`, a hash of the fencing
// numbers that were given. Of a key with a hash tag the line is `redislock:line=key`; of any other
// with a '}' in it `redislock:line~{tag}key`, with a short tag of the same slot; and likewise the rest.
// All of them have a TTL from their first instant. Owners are compared by whole token, never by prefix.
//
// Every operation on a set is one script. Sent twice in a row it does what it does once. A request that
// was not answered may reach the server late, after others: so the next one of the same owner closes
// it, by a guard. That is a member of the line of its first key, which says that nothing of this owner
// with a smaller number is to be done, and ends after five minutes. Nobody waits for late requests,
// and without faults there are no guards.
//
// # What is promised
//
//   - All or nothing: a set is taken, refreshed and released in one step. Others never see a part.
//   - Exclusion: a write key has one holder, a read key has readers only.
//   - A returned lock is live: its window runs from before the request was sent to
//     [Lock.Deadline]. Windows of conflicting locks never overlap, as long as server clocks do not
//     jump, the server keeps the keys, and no fail-over loses a write.
//   - Loss is told: with a watchdog, [Lock.Context] is cancelled with cause [ErrLockLost] no later
//     than the deadline, also when Redis cannot be reached, also after the machine has slept.
//   - Nothing is left behind: what an Obtain that failed may have left is cleared up, also if its
//     reply was lost or its context is cancelled; a Release frees whatever is still ours.
//   - First come, first served among those who queue; the release hands over, and nothing depends on
//     a message arriving.
//   - Fencing: with [Options].Fenced a number that is greater than all before it.
//   - One error for one fact: see [ErrNotObtained], [ErrLockNotHeld], [ErrUnknownOutcome].
//
// # What no Redis lock can promise
//
//   - Work that begins inside a window can end after it: the process is paused, the network slow.
//     The library cancels the context; what is already on its way to another system arrives.
//   - Replication is asynchronous: a primary that fails can take the newest locks with it, and one
//     that was cut off and wakes up goes on granting until it is told. The loss is told at the
//     next renewal. Where all replicas have to have a lock, by [Options].Replicas, neither happens, as
//     long as the clock of none of them is ahead of the primary's.
//   - A server that restarts without its data gives away what others hold, but not with
//     [Options].MinUptime.
//   - A server clock that jumps ahead ends leases early; one that jumps back keeps keys locked.
//   - A process that is stopped is told of a loss when it wakes, not before.
//   - A Ring that loses a shard moves its keys to another, which knows no locks.
//   - Eviction, FLUSHALL and whoever deletes a key remove locks. Give locks a server, or at least a
//     database, with maxmemory-policy noeviction.
//
// Where two holders would do damage, let the resource itself refuse the older one, by its
// [Lock.Fence].
package redislock

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

var (
	// ErrNotObtained says that the lock is certain not to be ours: somebody else holds a key of the
	// set (then the error is a [*ConflictError] as well), or the answer came too late to be of use.
	// If the context has ended meanwhile the error is its cause, too.
	ErrNotObtained = errors.New("not obtained")
	// ErrLockNotHeld says that a key of the set is no longer ours: it has expired, or somebody
	// removed it.
	ErrLockNotHeld = errors.New("lock not held")
	// ErrLockLost is the cause with which the context of a lost lock is cancelled.
	ErrLockLost = errors.New("redislock: lock lost")
	// ErrUnknownOutcome says that the request was sent and no answer came, so that it may have been
	// executed or not. The error is its cause, too. After an Obtain nothing has to be done: what it
	// may have locked is being freed.
	ErrUnknownOutcome = errors.New("outcome not known")
	// ErrNotReplicated says that fewer replicas than [Options].Replicas have acknowledged a lock or a
	// lease, so that it does not count. The error is an [ErrNotObtained] or an [ErrUnknownOutcome], too.
	ErrNotReplicated = errors.New("not replicated")
	// ErrCrossSlot says that the keys of the set are not in one Cluster slot, or not certain to be
	// on one shard of a Ring. Hash tags bring them together: "{order:7}:stock".
	ErrCrossSlot = errors.New("keys are not in one slot")
	// ErrInvalidKeys says that the set is empty or too large, or has an empty key.
	ErrInvalidKeys = errors.New("invalid keys")
	// ErrInvalidTTL says that a ttl is not positive, or more than 365 days.
	ErrInvalidTTL = errors.New("invalid ttl")
	// ErrInvalidToken says that a token is empty, too long, or contains '|'.
	ErrInvalidToken = errors.New("invalid token")
	// ErrInvalidMetadata says that metadata is too long.
	ErrInvalidMetadata = errors.New("invalid metadata")
)

// errClosed is the error of what a closed Client does not do any more.
var errClosed = fmt.Errorf("the client is closed: %w", redis.ErrClosed)

//go:embed obtain.lua
var obtainLua string

//go:embed rw.lua
var rwLua string

//go:embed inspect.lua
var inspectLua string

var (
	obtainScript  = newScript("obtain", obtainLua)
	rwScript      = newScript("rw", rwLua)
	inspectScript = newScript("inspect", inspectLua)
)

const (
	defaultMaxKeys     = 1000
	mostKeys           = 10000 // they hold the server for about 20 ms, longer if somebody waits for them
	defaultMaxMetadata = 4 << 10
)

// A Client obtains locks. It is safe for concurrent use, and one for each Redis client is enough:
// what several goroutines ask for at the same time travels together. It has goroutines only while
// something is under way, a lock is watched, something is to be cleared up, or somebody stands in
// line, and for 5 s after that.
type Client struct {
	transport   *transport
	listeners   *listeners
	placement   placement
	schedule    *clock.Schedule
	log         *slog.Logger
	hooks       Hooks
	maxKeys     int
	maxMetadata int
	batching    bool
	virtual     bool                  // it was made in virtual time: see isVirtual
	wraps       redis.UniversalClient // of WithWrapped
	unfit       error                 // why nothing can be done with the Redis client
	closed      atomic.Bool
	ending      chan struct{} // closed by Close
}

// A ClientOption changes a default of [New].
type ClientOption func(*Client)

// WithLogger has the client log what no return value tells. Each loss of a watched lock is one line at
// the level of a warning, as is each outcome that was not known. Renewals that failed and are tried
// again, and watched locks that a Close has given up, are informational. The keys of a set are a list:
// "keys", the first 20, and "more_keys", how many there are beside them. Default: nothing is logged.
// Tokens never are.
func WithLogger(log *slog.Logger) ClientOption {
	return func(c *Client) {
		if log != nil {
			c.log = log
		}
	}
}

// WithHooks has the client tell what happens to its locks. Default: nobody.
func WithHooks(hooks Hooks) ClientOption { return func(c *Client) { c.hooks = hooks } }

// WithMaxKeys sets how many keys a set may have, from 1 to 10 000; values beyond count as the
// nearest of them. Default: 1 000. To obtain ten thousand free keys holds the server up for some 20 ms;
// to convert them, or to hand them over to somebody in line, for up to 0.3 s.
func WithMaxKeys(n int) ClientOption {
	return func(c *Client) { c.maxKeys = min(max(n, 1), mostKeys) }
}

// WithMaxMetadata sets how many bytes of metadata a lock may have. Default: 4 096. They are stored
// with each key of the set.
func WithMaxMetadata(bytes int) ClientOption {
	return func(c *Client) { c.maxMetadata = max(bytes, 0) }
}

// WithoutBatching sends every command by itself, at once. Default: what is asked for while a
// command is under way goes out together, as one pipeline, which does several times as much and
// costs a lone caller nothing.
func WithoutBatching() ClientOption { return func(c *Client) { c.batching = false } }

// New makes a Client for a *redis.Client (of a single server, or NewFailoverClient for Sentinel),
// a *redis.ClusterClient, a *redis.Ring, or anything else that can run scripts. The Redis client
// stays the caller's to close, after the Client. Nothing is sent. Without a Redis client, or with a
// [redis.Pipeliner], everything that is done with the Client returns an error.
//
// Exactly these three types are driven below their surface. A client of any other type, also one that
// embeds one of them, is driven through its own Eval and EvalSha, so that what it does to keys and
// commands is done to those of locks: a prefix for each service, counting, chaos. Then calls do not
// travel together; [Options].Replicas and MinUptime are an [errors.ErrUnsupported], and so is Queue
// without [WithWrapped]. Such a client
//
//   - makes of a key the same in every call, whatever the context: renewals and clean-ups come with one
//     of their own;
//   - is given names beside the keys as if they were keys: redislock:line:{key}, for example. Behind a
//     prefix they are others, so whoever shares lines, intents and fencing numbers has the same prefix;
//   - needs hash tags in the keys of a Cluster if it changes them, else these names are in other slots
//     than their keys: [ErrCrossSlot]. A '}' alone, as in "a}b", is none. The same goes for sets of
//     several keys on a Ring;
//   - had better not send again by itself: MaxRetries -1 in the options of what it wraps (of a
//     *redis.ClusterClient that is not enough). The Client does that, and knows then what may have been
//     executed. Otherwise a Release whose first answer was lost can come out as [ErrLockNotHeld]; and a
//     call that it may have sent twice is followed by one that sets a guard. That is a call during
//     which it has given up a connection; or, if it has no PoolStats and there is no [WithWrapped], one
//     that took longer than 5 ms.
func New(rdb redis.Scripter, opts ...ClientOption) *Client {
	c := &Client{
		schedule:    clock.NewSchedule(),
		log:         slog.New(slog.DiscardHandler),
		maxKeys:     defaultMaxKeys,
		maxMetadata: defaultMaxMetadata,
		batching:    true,
		ending:      make(chan struct{}),
		virtual:     isVirtual(),
	}
	for _, opt := range opts {
		if opt != nil {
			opt(c)
		}
	}
	if c.unfit = errors.Join(unfit(rdb), c.unfit); c.unfit != nil {
		rdb, c.wraps = nil, nil // nobody is to be asked
	}
	c.transport = newTransport(rdb, c.wraps, c.batching)
	c.listeners = newListeners(c)
	c.placement = c.transport.placement()
	return c
}

// Close ends everything that goes on by itself: no lock is renewed any more, those that are watched
// are declared lost and left to their TTL, and what was still to be cleared up is, once. To the log
// that is no warning: whoever closes a Client means it. It waits for what is under way, no longer
// than the time-outs of the Redis client. Afterwards Obtain
// returns an error that is [redis.ErrClosed]; locks can still be released.
//
// A Client that holds no watched lock and has nobody in line need not be closed.
func (c *Client) Close() {
	if c == nil || c.transport == nil || c.closed.Swap(true) {
		return
	}
	close(c.ending)
	c.transport.hasten()
	c.listeners.close()
	for _, rest := range c.schedule.Close() {
		switch rest := rest.(type) {
		case *watch:
			rest.lock.lose(errClosed)
		case *orphan:
			rest.Run(clock.Now())
		}
	}
	c.transport.drain()
}

// Obtain takes the write locks of all keys, or of none, for ttl.
//
// It asks once, or as often as the RetryStrategy of its options says, and returns at the latest
// 100 ms after ctx has ended. Each time it asks, it goes on for one to three seconds while the connection
// fails or the server is not ready; and for 10 s while the slot of the keys is on its way to another
// server of a Cluster, which refuses whoever asks for several keys until all have gone. If nobody answers
// it gives up, also if ctx does not end: after the ttl, because what is granted later is of no use, or
// after one read time-out of the Redis client (5 s if it has none, or does not say) if that is more. The
// ttl is 1 ms to 365 days, fractions of a millisecond round up.
//
// If a key is held by somebody else the error is an [ErrNotObtained] and a [*ConflictError] that
// names it; if ctx ended meanwhile, also its cause. If no answer came it is an
// [ErrUnknownOutcome]. Bad arguments are refused before anything is sent. With an error, nothing
// stays locked.
func (c *Client) Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return c.obtain(ctx, keys, nil, ttl, opt)
}

// ObtainRead takes the read locks of all keys, or of none, for ttl: several readers may hold a key
// at the same time, each with a lease of its own, and no writer. Otherwise it is [Client.Obtain].
func (c *Client) ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return c.obtain(ctx, nil, keys, ttl, opt)
}

// ObtainMixed takes write locks and read locks as one set. A key in both lists is a write key.
// Otherwise it is [Client.Obtain] and [Client.ObtainRead].
func (c *Client) ObtainMixed(ctx context.Context, write, read []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return c.obtain(ctx, write, read, ttl, opt)
}

// Obtain is [Client.Obtain] of a Client made for this one lock.
func Obtain(ctx context.Context, rdb redis.Scripter, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return New(rdb).Obtain(ctx, keys, ttl, opt)
}

// With obtains the keys, runs fn, and releases them, also if fn panics. ctx bounds both the waiting
// and fn; to bound the waiting alone, use the RetryStrategy. While fn runs the watchdog
// renews the lease; if the lock is lost all the same, the context of fn is cancelled with cause
// [ErrLockLost].
//
// If the keys could not be obtained fn is not run, and the error is that of [Client.Obtain]. If the
// lock was lost while fn ran the error is an [ErrLockLost], joined with the error of fn. Otherwise
// it is the error of fn, unchanged: a Release that could not be confirmed is logged and seen to in
// the background.
func (c *Client) With(ctx context.Context, keys []string, ttl time.Duration, opt *Options, fn func(context.Context) error) (err error) {
	var watched Options
	if opt != nil {
		watched = *opt
	}
	watched.Watchdog = true
	lock, err := c.Obtain(ctx, keys, ttl, &watched)
	if err != nil {
		return err
	}
	held := lock.Context(ctx)
	defer func() {
		isLost := lock.isLost()
		switch failed := lock.Release(ctx); {
		case isLost, errors.Is(failed, ErrLockNotHeld):
			err = errors.Join(lock.whyLost(), err)
		case failed != nil:
			c.log.WarnContext(ctx, "redislock: release not confirmed", lock.snapshot().logged(), "error", failed)
		}
	}()
	return fn(held)
}

// Attach makes a handle for keys that are held under a token, perhaps by another process: to
// release them, refresh them, or ask for their TTL. It sends nothing; bad keys or a bad token are
// reported by whatever is done with the handle. It knows neither the modes of the keys nor their
// lease: Deadline and Context count from the first Refresh. Nor does it know of [Options].Replicas:
// it asks the primary alone.
func (c *Client) Attach(keys []string, token string) *Lock {
	if err := c.usable(); err != nil {
		return &Lock{client: c, value: token, faulty: err, shown: true}
	}
	set, err := newKeySet(keys, nil, c.maxKeys)
	if err == nil {
		err = c.placement.check(set.keys)
	}
	if err == nil {
		err = checkToken(token)
	}
	return &Lock{client: c, set: set, value: token, faulty: err, shown: true}
}
