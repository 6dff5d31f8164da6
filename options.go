package redislock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/wire"
)

const (
	defaultMaxKeys = 1000
	mostKeys       = 10000 // they hold the server for about 15 ms if they are free, and to be written
	mostMetadata   = 4 << 10
)

// A ClientOption changes a default of [New].
type ClientOption func(*Client)

// WithLogger makes the client log what no return value says. Each loss of a watched lock is one
// line at the level of a warning, and so is each outcome that is not known. Renewals that failed
// and are tried again, and watched locks that a Close has given up, are lines at the level of
// information. The keys of a set are logged as "keys", a list of the first 20, and "more_keys", the
// number of the others. Tokens are never logged. Default: nothing is logged.
func WithLogger(log *slog.Logger) ClientOption {
	return func(c *Client) {
		if log != nil {
			c.log = log
		}
	}
}

// A logger is what the Client uses of a *slog.Logger. Behind an interface, because a program without WithLogger
// need not carry what writes a log.
type logger interface {
	Info(msg string, args ...any)
	Warn(msg string, args ...any)
	WarnContext(ctx context.Context, msg string, args ...any)
}

// A silence is the logger of a Client without one.
type silence struct{}

func (silence) Info(string, ...any)                         {}
func (silence) Warn(string, ...any)                         {}
func (silence) WarnContext(context.Context, string, ...any) {}

// WithHooks makes the client call hooks when something happens to its locks: all that it is given, in
// this order, those for metrics and those for a log, for example. The option may be given more than
// once. Default: no hooks.
func WithHooks(hooks ...Hooks) ClientOption {
	return func(c *Client) { c.hooks = c.hooks.And(hooks...) }
}

// WithMaxKeys sets how many keys a set may have, from 1 to 10 000. A number outside of that counts
// as the nearest one inside. The server does nothing else while it works on a set: up to 50 ms for
// 2 500 keys, whatever is done with them. For ten thousand keys that takes, on a machine of today, some
//
//   - 15 ms to obtain them if they are free, and 10 ms to release them;
//   - 25 to 35 ms to obtain or release them as read keys, or with [Options.Fenced];
//   - 45 to 75 ms to enter the lines of all of them, and 35 ms to ask again;
//   - 50 ms to hand them over to somebody who waits for the same set, and two or three times as long
//     where the sets overlap, are mixed, or somebody is dropped.
//
// Metadata comes on top, 3 ms for each megabyte that is stored at all keys together. Default: 1 000.
func WithMaxKeys(n int) ClientOption {
	return func(c *Client) { c.maxKeys = min(max(n, 1), mostKeys) }
}

// WithReplicas sets how many replicas must have a lock before it counts, and each new lease after
// that, also those of the watchdog. Each request to Redis is followed by a wait for the replicas (WAIT).
// The wait is at most a quarter of the ttl, one second, or half of the read time-out of the Redis
// client, whichever is least. If fewer replicas have acknowledged by then the error is an
// [ErrNotReplicated]. For an Obtain that means that the lock is not obtained: it keeps the keys and
// makes another attempt if its strategy says so, and otherwise gives them back. A renewal does not count
// then.
//
// Give the number of replicas that each primary is configured to have, even while some of them are away.
// A smaller number is not enough. The replica that is promoted is certain to have the lock only if every
// replica has it. And a primary that hung, was replaced and wakes up still finds some of its replicas
// connected, and would take their acknowledgements for enough. The price is that one replica that is
// down holds up every Obtain and, after the ttl, loses every lock.
//
// The clocks of the servers have to agree, because a lease is replicated as a moment of the primary's
// clock. [Lock.Deadline] allows for 1 % of the ttl and 2 ms. If the clock of a replica is ahead by more,
// the lease ends there before the deadline, by the difference. With a ttl of 10 s and a clock that was
// 0.5 s ahead, somebody else had a lock 0.4 s too soon after a fail-over. docs/operating.md says how to
// check the clocks.
//
// All Clients that lock the same keys need the same number. It needs a Redis client of go-redis itself,
// see [New]; with any other, each operation is an [errors.ErrUnsupported]. Default: 0, the primary alone.
func WithReplicas(n int) ClientOption {
	return func(c *Client) {
		if c.replicas = n; n < 0 {
			c.unfit = errors.Join(c.unfit, invalid("WithReplicas", "%d is less than 0", n))
		}
	}
}

// WithMinUptime makes a server refuse locks as long as it has been up for less than d. A server that
// has restarted without its last writes, as with snapshots or appendfsync everysec, would give away what
// others hold. After d all those leases are over, because no lease of this Client may be longer than d:
// a longer ttl, or [Options].HoldAtLeast, is an [ErrInvalid]. The refusal is a [*ConflictError] with
// [ModeRestarted].
//
// The uptime counts by the server's wall clock, in seconds. Each attempt costs an INFO, about half as
// much again as a plain Obtain costs the server. After every restart, even one that kept the data,
// nothing can be locked for that time.
//
// All Clients that lock the same keys need the same d, from 1 ms to 365 days. It needs a Redis client of
// go-redis itself, see [New]; with any other, each operation is an [errors.ErrUnsupported]. Default: 0,
// the uptime is not asked.
func WithMinUptime(d time.Duration) ClientOption {
	return func(c *Client) {
		if c.minUptime = d; d != 0 && clock.CheckTTL(d) != nil {
			c.unfit = errors.Join(c.unfit, invalid("WithMinUptime", "%s is not between %s and %s", d, minTTL, maxTTL))
		}
	}
}

// Replicas returns the number of [WithReplicas].
func (c *Client) Replicas() int { return c.replicas }

// MinUptime returns the time of [WithMinUptime].
func (c *Client) MinUptime() time.Duration { return c.minUptime }

// unfitToAsk says why a Client cannot ask the server what its options want to know.
func (c *Client) unfitToAsk(rdb redis.Scripter) error {
	asks := "WithReplicas"
	switch {
	case wire.IsGoRedis(rdb):
		return nil
	case c.replicas > 0:
	case c.minUptime > 0:
		asks = "WithMinUptime"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s asks the server itself, and of a %T only Eval and EvalSha are used: "+
		"give New a *redis.Client, *redis.ClusterClient or *redis.Ring", errors.ErrUnsupported, asks, rdb)
}

// WithWrapped names the Redis client that is wrapped by the one given to [New], if that has a type
// of its own. The Client may then use the wrapped client directly for what concerns no key. That
// makes two things possible. [Options].Queue works, because the Client can subscribe to channels by
// the wrapped client. And calls travel together: several that take or release write locks become
// one EvalSha; on a Cluster or a Ring those do whose keys have the same hash tag.
//
// Every key and every script still goes through Eval and EvalSha of the wrapper, never past them.
// So a wrapper may put a prefix before each key, count calls, or delay them. It must expect that
// the keys of one EvalSha belong to several locks. A prefix must have no hash tag, and on a Cluster
// every key behind a prefix needs a hash tag of its own: see [New].
//
// The option has no effect if New is given a *redis.Client, *redis.ClusterClient or *redis.Ring
// itself. Default: nothing is known of what a client of another type wraps, and only its Eval and
// EvalSha are used.
func WithWrapped(rdb redis.UniversalClient) ClientOption {
	return func(c *Client) { c.wraps, c.unfit = rdb, errors.Join(c.unfit, unfitWrapped(rdb)) }
}

func unfitWrapped(rdb redis.UniversalClient) error {
	switch {
	case isNil(rdb):
		return errors.New("WithWrapped was given no Redis client")
	case !wire.IsGoRedis(rdb):
		return fmt.Errorf("WithWrapped was given a %T: it needs the *redis.Client, *redis.ClusterClient or *redis.Ring itself", rdb)
	}
	return nil
}

// unfit says why nothing can be locked with a Redis client.
func unfit(rdb redis.Scripter) error {
	switch {
	case rdb == nil:
		return errors.New("New was given no Redis client: nil")
	case isNil(rdb):
		return fmt.Errorf("New was given no Redis client: a %T that is nil", rdb)
	}
	if _, ok := rdb.(redis.Pipeliner); ok {
		return fmt.Errorf("%w: New was given a %T, whose answers come at its Exec: give it the client that this is of",
			errors.ErrUnsupported, rdb)
	}
	return nil
}

func isNil(rdb any) bool {
	v := reflect.ValueOf(rdb)
	return rdb == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

// Options are the options of an Obtain. The zero value, and nil, mean the defaults. What is used every
// day comes first, then what concerns the waiting, then what makes a lock safer.
type Options struct {
	// Watchdog renews the lease every third of the ttl until the lock is released or lost. Default:
	// off; the lock ends with its ttl unless it is refreshed.
	Watchdog bool

	// Metadata is stored with the lock, for whoever finds it: see [InstanceMetadata]. It may be any
	// bytes. Default: that of [WithMetadata], or none.
	Metadata string

	// Name says in events what the lock is for, such as "nightly-report": see [Event]. It is a label
	// of metrics, so a program has few of them, however many keys it locks. It has up to 128 bytes and
	// is not sent to Redis. Default: none.
	Name string

	// RetryStrategy says how long to wait before the next attempt, when somebody else holds a key,
	// a server is not ready or a connection fails. Default: there is one attempt; with Wait, and without
	// Queue, it is ExponentialBackoff(10*time.Millisecond, 250*time.Millisecond).
	RetryStrategy RetryStrategy

	// Wait is for how long this Obtain tries at most, whether it polls or stands in line. It bounds nothing that
	// comes after it: neither the lock nor the function of [Client.With]. One attempt is made in any
	// case, and has 100 ms to be answered. The error of an Obtain that has waited in vain is an
	// [ErrWaitOver]. It is a [*ConflictError], too, if somebody else holds a key, and an [ErrUnknownOutcome]
	// if no server has answered. It is 1 µs to 365 days. Default: 0, only ctx and the RetryStrategy bound the waiting.
	Wait time.Duration

	// Queue makes this Obtain stand in line if a key is held by somebody else. It waits until the
	// lock is handed to it, first come, first served, or until ctx ends. Readers at the front of
	// the line get the lock together. An Obtain without Queue is refused as long as others stand in
	// line. Each release hands the lock over to the next one in line, so that nobody has to ask
	// again and again. A waiter that has died is passed over after 15 s at the latest.
	//
	// The RetryStrategy then only says how long to wait before the next attempt if Redis cannot be
	// reached before the Obtain has a place in line. Once it has one, it waits until ctx ends.
	//
	// Queue needs a Redis client of go-redis itself, or [WithWrapped], otherwise it is an
	// [errors.ErrUnsupported]. On a Cluster it needs Redis 7 or later. Default: off.
	Queue bool

	// Intent keeps new readers away from the write keys while this Obtain waits for its next
	// attempt. Otherwise readers who come and go could keep a writer out for ever. It has no effect
	// on read keys, nor where there is one attempt. An Obtain with Intent is not kept out by the
	// intents of others, because two of them could keep each other out for ever. It has no effect
	// with Queue, whose line does the same. Default: off.
	Intent bool

	// Fenced gives the lock a fencing number: see [Lock.Fence]. If Redis holds something else under the name of the numbers of a key, the
	// Obtain leaves it alone and returns an error that names it. No strategy waits for that,
	// because no lease ends it. Default: off.
	Fenced bool

	// HoldAtLeast keeps the keys taken for this long after they were obtained, even if the lock is
	// released before. A Release, or a ReleaseKeys, then leaves the keys for the rest, as
	// [Lock.Leave] does. So a job that is started by the clocks of several machines runs once, although
	// the first run is over before the last clock strikes: docs/leaving.md has the recipe. The time
	// counts by the clock of this process, from the answer of the Obtain. If the holder dies the keys
	// are free when the ttl is over, however long HoldAtLeast is. It is 1 ms to 365 days. Default: 0,
	// a Release frees the keys.
	HoldAtLeast time.Duration
}

const (
	minTTL = time.Millisecond // what Redis can count
	maxTTL = clock.Longest
)

// checkTTL rounds a ttl up to whole milliseconds, if it is one that a lock of the Client can have.
func (c *Client) checkTTL(ttl time.Duration) (time.Duration, error) {
	if err := clock.CheckTTL(ttl); err != nil {
		return 0, invalid("ttl", "%v", err)
	}
	if err := c.checkOutlasts("ttl", ttl); err != nil {
		return 0, err
	}
	return (ttl + minTTL - 1).Truncate(minTTL), nil
}

// checkOutlasts refuses a time for which keys would be taken, if WithMinUptime waits for less.
func (c *Client) checkOutlasts(argument string, d time.Duration) error {
	if c.minUptime > 0 && d > c.minUptime {
		return invalid(argument, "%s is longer than the %s of WithMinUptime", d, c.minUptime)
	}
	return nil
}
