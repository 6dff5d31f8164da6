package election

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-14de3678/redislock"
)

// A Client obtains the lock of an election: a [*redislock.Client], a Client of package quorum,
// or an Obtainer of package held. It is no Owner: candidates with one token would lead at the same time.
type Client interface {
	// With obtains the keys, runs fn, and releases the keys: see [redislock.Client.With].
	With(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error
}

// Elect makes the caller a candidate for key, and runs fn when it is elected. It is [Candidate.Run] of a Candidate
// with these fields alone.
func Elect(ctx context.Context, client Client, key string, ttl time.Duration, fn func(context.Context) error) error {
	c := Candidate{Client: client, Key: key, TTL: ttl}
	return c.Run(ctx, fn)
}

// A Candidate wants to lead. Its fields are set before [Candidate.Run] and not changed while that runs. Then it is
// safe for concurrent use; each Run is a candidate of its own.
type Candidate struct {
	// Client obtains the lock. If it cannot stand in line, because it is a Client of package quorum or because its
	// Redis client cannot subscribe, the candidate asks again and again, as RetryStrategy says.
	Client Client

	// Key is the key of the lock: its holder leads. All candidates of one election have the same.
	Key string

	// TTL is the lease of the leader, which is renewed three times within it. After a leader has died nobody leads for
	// that time at most. If Redis is out of reach for that time the leader has to give up. Some 5 to 30 seconds suit
	// most programs.
	TTL time.Duration

	// Metadata is what [Leader] tells of this candidate when it leads. Default: [redislock.InstanceMetadata].
	Metadata string

	// Name is the name in the events of the lock: see [redislock.Options].Name. Default: none.
	Name string

	// RetryStrategy says how long the candidate waits before it asks again. It does so if Redis cannot be reached or is
	// not ready, and, if the Client cannot stand in line, as long as somebody else leads. A candidate that stands in
	// line is told of its turn. A strategy that ends begins anew. Default: from 50 ms up to 1 s, with a jitter.
	RetryStrategy redislock.RetryStrategy

	// Lost is called after each term that has ended by a loss, when fn has returned. Its error is a
	// [redislock.ErrLockLost], joined with the error of fn if there is one. The candidate stands in line again when
	// Lost returns. Default: Logger is told.
	Lost func(ctx context.Context, err error)

	// Logger is told what no return value says: a loss if there is no Lost, a resignation that Redis has not
	// confirmed, and, once between two terms, a failure after which the candidate asks again. A candidate that has
	// its place in line does not tell that Redis cannot be reached. Default: [slog.Default].
	Logger *slog.Logger
}

var (
	errNoClient   = errors.New("election: there is no Client")
	errNoBackOff  = errors.New("election: the RetryStrategy has returned nil in place of a BackOff")
	errIsOwner    = errors.New("election: the Client is an Owner, and candidates with one token would lead at the same time")
	errNoFunction = errors.New("election: there is no function to run")
)
