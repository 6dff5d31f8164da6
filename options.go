package redislock

import (
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// Options of an Obtain. The zero value, and nil, mean the defaults.
type Options struct {
	// RetryStrategy says how long to wait before asking again, if a key is held by somebody else, a
	// server is not ready or a connection fails. Default: not to ask again.
	RetryStrategy RetryStrategy

	// Metadata is stored with the lock, for whoever finds it: see [InstanceMetadata]. Any bytes.
	// Default: none.
	Metadata string

	// Token is the owner under which the keys are held. Keys that it holds already count as free,
	// so that a set may grow, shrink, or change its metadata or modes. All locks of one token are
	// one owner:
	//
	//   - What one of them releases the others lose.
	//   - An Obtain never shortens a lease: the keys live for the later of both ends. Value and metadata
	//     are replaced. The Deadline of each Lock counts on its own ttl alone.
	//   - A Refresh to a shorter ttl shortens the lease of all of them, and a Downgrade or an ObtainRead
	//     makes read keys for all of them, without the others being told.
	//   - What is asked for at the same time is done in some order. A Release, a Refresh or a Downgrade
	//     that is sent again because it was not answered undoes nothing of an Obtain that has begun
	//     meanwhile: the Release leaves to it what it counts on, the Refresh shortens no lease, the
	//     Downgrade may have no effect.
	//
	// Nothing waits for a request that was not answered, and once a later one was it changes nothing any
	// more, for five minutes. That is known in this process, through all of its Clients. Another process
	// that uses the same token is not protected from late requests of this one, nor is what it has
	// obtained spared by clean-ups here: give each process its own token, or hand it on when the first
	// one has released. Default: a new random token.
	Token string

	// Watchdog renews the lease every third of the ttl until the lock is released or lost.
	// Default: off; the lock ends with its ttl if it is not refreshed.
	Watchdog bool

	// Intent keeps new readers away from the write keys while this Obtain waits for its next
	// attempt, so that readers who come and go cannot keep a writer out for ever. It has no effect
	// on read keys, nor without a RetryStrategy. An Obtain with Intent is not kept out by the intents
	// of others: two of them could keep each other out for ever. It has no effect with Queue, where
	// the line does the same. Default: off.
	Intent bool

	// Queue has this Obtain stand in line if a key is held: it waits until the lock is handed to it,
	// first come first served, or ctx ends. Readers at the front go in together. Whoever does not
	// queue is refused meanwhile. The release of the one before hands the lock over, so that nobody
	// asks again and again; those who died are passed over, at the latest after 15 s.
	//
	// The RetryStrategy then only says how long to wait before asking again if Redis cannot be
	// reached before there is a place in line; once there is, the Obtain goes on until ctx ends.
	//
	// It needs a Redis client of go-redis itself, or [WithWrapped], else it is an
	// [errors.ErrUnsupported]; and on a Cluster Redis 7 or later. A token that waits for more keys
	// than it holds can wait for another that does so, too: then until ctx ends. Default: off.
	Queue bool

	// Fenced gives the lock a fencing number: see [Lock.Fence]. Of the locks of one Token all are
	// fenced, or none. If Redis holds something else under the name of the numbers of a key, that is
	// left alone, and is an error that names it: no lease ends it, so no strategy waits for it.
	// Default: off.
	Fenced bool

	// Replicas is how many replicas have to have the lock before it counts, and each new lease after
	// it, of the watchdog too. Each time that Redis is asked they are waited for (WAIT): for a quarter
	// of the ttl, a second, and half of the read time-out of the Redis client at most. If fewer have
	// acknowledged by then, an Obtain has not obtained, gives back what it took, and asks again if its
	// strategy says so, keeping the keys meanwhile; a renewal does not count. The error is an
	// [ErrNotReplicated].
	//
	// Set it to the number of replicas that are configured for each primary, not to that of those
	// which are there, and not to less: only if every replica has the lock, every one that may be
	// promoted has it. A primary that was replaced while it hung, and wakes up, finds some of its
	// replicas still connected and would believe them. The price is that a single replica that is
	// down holds up every Obtain and, after the ttl, every lock.
	//
	// It takes clocks that agree: leases are replicated as moments of the primary's clock. If that of a
	// replica is ahead by more than 1 % of the ttl and 2 ms, which is what [Lock.Deadline] leaves out, the
	// lease ends there before the deadline, by the rest: with a ttl of 10 s and a clock that is 0.5 s
	// ahead somebody else had a lock 0.4 s too soon after a fail-over. docs/choosing.md says how to check
	// the clocks.
	//
	// It needs a Redis client of go-redis itself, else it is an [errors.ErrUnsupported]: see [New].
	// Default: 0, the primary alone.
	Replicas int

	// MinUptime has a server refuse that has been up for less: one that has restarted without its
	// data would give away what others hold. If it is at least the longest ttl in use all of those
	// leases are over by then. The error is a [*ConflictError] with [ModeRestarted].
	//
	// The server's wall clock and seconds count. It costs an INFO for each attempt, about half as much
	// again as a plain Obtain costs the server, and locks nothing for that time after every restart.
	// Default: 0, not asked.
	MinUptime time.Duration
}

// checkServer checks what the options ask of the server.
func (c *Client) checkServer(opt *Options) error {
	switch {
	case opt.Replicas < 0:
		return fmt.Errorf("invalid Replicas: %d", opt.Replicas)
	case opt.MinUptime < 0 || opt.MinUptime > maxTTL:
		return fmt.Errorf("invalid MinUptime: %s is not between 0 and %s", opt.MinUptime, maxTTL)
	}
	asks := ""
	switch {
	case opt.Replicas > 0:
		asks = "Replicas"
	case opt.MinUptime > 0:
		asks = "MinUptime"
	}
	if asks != "" && c.transport.wrapped {
		return fmt.Errorf("%w: Options.%s asks the server itself, and of a %T only Eval and EvalSha are used: "+
			"give New a *redis.Client, *redis.ClusterClient or *redis.Ring", errors.ErrUnsupported, asks, c.transport.rdb)
	}
	return nil
}

const (
	minTTL = time.Millisecond // what Redis can count
	maxTTL = clock.Longest
)

// checkTTL rounds a ttl up to whole milliseconds, if it is one that a lock can have.
func checkTTL(ttl time.Duration) (time.Duration, error) {
	if ttl <= 0 || ttl > maxTTL {
		return 0, fmt.Errorf("%w: %s is not between %s and %s", ErrInvalidTTL, ttl, minTTL, maxTTL)
	}
	return (ttl + minTTL - 1).Truncate(minTTL), nil
}
