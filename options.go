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
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/wire"
)

const (
	defaultMaxKeys = 1000
	mostKeys       = 10000 // they hold the server for about 15 ms if they are free, and to be written
	mostMetadata   = 4 << 10
	mostName       = 128
)

// A ClientOption changes a default of [New].
type ClientOption func(*settings)

// settings are what the options of a Client say.
type settings struct {
	log       logger
	hooks     Hooks
	prefix    string // of every key, of WithKeyPrefix
	metadata  string // of WithMetadata, for each lock that has none of its own
	maxKeys   int
	replicas  int           // of WithReplicas
	minUptime time.Duration // of WithMinUptime
	// listen has a watch hear of Breaks, by WithBreakNotices; nil if not asked for. A program without that option does not
	// carry what it needs.
	listen func(watch any)
	wraps  wire.GoRedis // of WithWrapped
	unfit  error        // why nothing can be done with the Redis client
}

// WithLogger makes the Client log what no return value says. At the level of a warning it logs each loss of a watched
// lock and each unknown outcome. At the level of information it logs each renewal that failed and is tried again.
// Tokens are never logged. Default: nothing is logged.
func WithLogger(log *slog.Logger) ClientOption {
	return func(s *settings) {
		if log != nil {
			s.log = log
		}
	}
}

// A logger is what the Client uses of a *slog.Logger. It is an interface, so that a program without WithLogger need not
// carry the code that writes a log.
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

// WithHooks makes the Client call all of the hooks, in this order, when something happens to its locks. The
// option may be given more than once. Default: no hooks.
func WithHooks(hooks ...Hooks) ClientOption {
	return func(s *settings) { s.hooks = s.hooks.And(hooks...) }
}

// WithMaxKeys sets how many keys a set may have, up to 10 000. The server does nothing else while it works on
// a set: docs/costs.md says for how long. Default: 1 000.
func WithMaxKeys(n int) ClientOption {
	return func(s *settings) { s.maxKeys = min(max(n, 1), mostKeys) }
}

// WithReplicas sets how many replicas must have a lock, and each new lease of it, before it counts. Give the number
// that each primary is configured to have: with fewer, a fail-over can still lose locks. All Clients that lock the
// same keys need the same number. If fewer replicas acknowledge in time the error is an [ErrNotReplicated].
// docs/clients.md has the price, and why the clocks of the servers have to agree. Default: 0, the primary alone.
func WithReplicas(n int) ClientOption {
	return func(s *settings) {
		if s.replicas = n; n < 0 {
			s.unfit = errors.Join(s.unfit, invalid("WithReplicas", "%d is less than 0", n))
		}
	}
}

// WithMinUptime makes a server refuse locks until it has been up for d. So a server that restarts without its last
// writes does not give away what others hold. The refusal is a [*ConflictError] with [ModeRestarted]. A longer ttl or
// [Options].HoldAtLeast is an [ErrInvalid]. All Clients that lock the same keys need the same d, from 1 ms to 365 days.
// docs/clients.md has the price. Default: 0, the uptime is not asked.
func WithMinUptime(d time.Duration) ClientOption {
	return func(s *settings) {
		if s.minUptime = d; d != 0 && clock.CheckTTL(d) != nil {
			s.unfit = errors.Join(s.unfit, invalid("WithMinUptime", "%s is not between %s and %s", d, minTTL, maxTTL))
		}
	}
}

// asksServer reports whether an Obtain can be refused for what only the server itself can say.
func (s *settings) asksServer() bool { return s.replicas > 0 || s.minUptime > 0 }

// unfitToAsk says why a Client cannot ask the server for what its options need.
func (s *settings) unfitToAsk(rdb redis.Scripter) error {
	if !s.asksServer() || wire.IsGoRedis(rdb) {
		return nil
	}
	asks := "WithReplicas"
	if s.replicas <= 0 {
		asks = "WithMinUptime"
	}
	return fmt.Errorf("%w: %s asks the server itself, and of a %T only Eval and EvalSha are used: "+
		"give New a *redis.Client, *redis.ClusterClient or *redis.Ring", errors.ErrUnsupported, asks, rdb)
}

// WithWrapped names the Redis client inside the one given to [New], if that is a wrapper with a type of its own. Then
// [Options].Queue works, and calls travel together. Every key and every script still goes through Eval and EvalSha of
// the wrapper: docs/clients.md says what it may do. Default: only Eval and EvalSha are used.
func WithWrapped(rdb redis.UniversalClient) ClientOption {
	return func(s *settings) { s.wraps, s.unfit = rdb, errors.Join(s.unfit, unfitWrapped(rdb)) }
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

// Options are the options of an Obtain. The zero value, and nil, mean the defaults. Everyday options come first, then
// options for the waiting, then options that make a lock safer.
type Options struct {
	// Watchdog renews the lease every third of the ttl until the lock is released or lost. Default: the lock
	// ends with its ttl unless it is refreshed.
	Watchdog bool

	// Metadata is stored with the lock, for everybody who finds it: see [InstanceMetadata]. It has up to 4 096 bytes of
	// any kind. Default: the text of [WithMetadata], or none.
	Metadata string

	// Name says in events what the lock is for, such as "nightly-report": see [Event]. It is a label of
	// metrics, so a program has few of them. It has up to 128 bytes and is not sent to Redis.
	Name string

	// RetryStrategy says how long to wait before the next attempt, when somebody else holds a key, a server
	// is not ready or a connection fails. With Queue it counts only until the Obtain has a place in line. Default:
	// one attempt; with Wait, and without Queue, ExponentialBackoff(10*time.Millisecond, 250*time.Millisecond).
	RetryStrategy RetryStrategy

	// Wait bounds the waiting, and nothing that comes after it: 1 µs to 365 days. One attempt is made in any case, and
	// has 100 ms to be answered. Default: 0, only ctx and the RetryStrategy bound the waiting.
	Wait time.Duration

	// Queue makes this Obtain stand in line if a key is held by somebody else: first come, first served, until
	// ctx ends. Each release hands the lock over, and an Obtain without Queue is refused as long as others wait. It
	// needs a Redis client of go-redis itself, or [WithWrapped]; on a Cluster it needs Redis 7.
	Queue bool

	// PassOn lets the Obtains of this Client that queue for the same write keys have a lock one after the other, without
	// Redis in between: for so long after it was obtained, a Release passes it on to the next of them, which asks for the
	// same. It is at most half of the ttl, and of the ttl at least half is left for each. Others wait longer for it:
	// docs/waiting.md has the figures. It needs Queue. Default: 0, never.
	PassOn time.Duration

	// Intent keeps new readers away from the write keys while this Obtain waits for its next attempt. Otherwise readers
	// that come and go could keep a writer out for ever. With Queue the line does the same.
	Intent bool

	// Fenced gives the lock a fencing number: see [Lock.Fence].
	Fenced bool

	// HoldAtLeast keeps the keys taken for this long after they were obtained. An earlier Release leaves them for the
	// rest of that time, as [Lock.Leave] does. It is 1 ms to 365 days. Default: 0.
	HoldAtLeast time.Duration
}

const (
	minTTL = time.Millisecond // what Redis can count
	maxTTL = clock.Longest
)

// checkTTL rounds a ttl up to whole milliseconds, if a lock of the Client can have it.
func (s *settings) checkTTL(ttl time.Duration) (time.Duration, error) {
	if err := clock.CheckTTL(ttl); err != nil {
		return 0, invalid("ttl", "%v", err)
	}
	if err := s.checkOutlasts("ttl", ttl); err != nil {
		return 0, err
	}
	return (ttl + minTTL - 1).Truncate(minTTL), nil
}

// checkOutlasts refuses a time for which keys would be taken, if it is longer than WithMinUptime.
func (s *settings) checkOutlasts(argument string, d time.Duration) error {
	if s.minUptime > 0 && d > s.minUptime {
		return invalid(argument, "%s is longer than the %s of WithMinUptime", d, s.minUptime)
	}
	return nil
}

// checkPassOn checks Options.PassOn for a lock with this ttl.
func checkPassOn(opt *Options, ttl time.Duration) error {
	switch d := opt.PassOn; {
	case d == 0:
		return nil
	case d < 0 || d > ttl/2:
		return invalid("PassOn", "%s is not between 0 and half of the ttl, %s", d, ttl/2)
	case !opt.Queue:
		return invalid("PassOn", "it needs Queue: a lock is passed on in line")
	case opt.HoldAtLeast > 0:
		return invalid("PassOn", "a lock that stays taken by HoldAtLeast is not passed on")
	}
	return nil
}

// checkTimes checks the options about the Obtain itself, which are not sent to Redis.
func (s *settings) checkTimes(opt *Options) error {
	if name, why := clock.CheckTimes(opt.Wait, opt.HoldAtLeast); why != "" {
		return &InvalidError{name, why}
	}
	if len(opt.Name) > mostName {
		return invalid("Name", "it has %d bytes, the limit is %d", len(opt.Name), mostName)
	}
	return s.checkOutlasts("HoldAtLeast", opt.HoldAtLeast)
}

// strategyOf returns how an Obtain with these options asks again; nil if it asks once.
func strategyOf(opt *Options) RetryStrategy {
	if opt.Queue {
		return opt.RetryStrategy
	}
	return pace.Strategy(opt.RetryStrategy, opt.Wait)
}
