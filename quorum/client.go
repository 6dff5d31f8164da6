package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

const (
	// mostPatience is the longest node time-out that is not asked for.
	mostPatience = time.Second
	// mostTTL is the longest lease that there is.
	mostTTL = 365 * 24 * time.Hour
)

// errClosed is the error of what a closed Client does not do any more.
var errClosed = fmt.Errorf("the client is closed: %w", redis.ErrClosed)

// A Client obtains locks that a majority of independent servers holds. It is safe for concurrent
// use. It has goroutines only while a request is under way, and for two seconds after that.
type Client struct {
	nodes   []*node
	need    int           // how many nodes are a majority
	timeout time.Duration // of a node; 0: by the ttl
	longest time.Duration // the quarantine; 0: none

	ctx    context.Context // of what nobody waits for
	end    context.CancelFunc
	closed atomic.Bool

	mu    sync.Mutex
	under int           // requests that Close waits for
	done  chan struct{} // closed when there are none after that
	crew
}

// An Option changes a default of [New].
type Option func(*Client)

// WithNodeTimeout sets how long an operation waits for a node, but never for longer than the ttl. A
// node that does not answer in time is not waited for again before it has answered a request within
// this time. A time-out that is not positive counts as the default. Default: a quarter of the ttl,
// at most one second; twice that with [redislock.Options].Replicas, because the node waits for its
// replicas in turn.
func WithNodeTimeout(d time.Duration) Option { return func(c *Client) { c.timeout = max(d, 0) } }

// WithQuarantine leaves out a node that has restarted, because it may have forgotten what it held,
// until the node has been up for longest. Then every lease that it may have forgotten is over. So
// no lease may be longer: a greater ttl is a [redislock.ErrInvalidTTL]. Every Client of the same
// servers needs the same quarantine, in every process. The package comment says what it costs. It
// is done by [redislock.Options].MinUptime, which Redis clients of a type of their own do not have.
// Default: no quarantine.
func WithQuarantine(longest time.Duration) Option {
	return func(c *Client) { c.longest = max(longest, 0) }
}

// New makes a Client of a [redislock.Client] for each server. New sends nothing. The caller closes
// the Clients of the servers, after this one. It is an error if there are no Clients, or if one of
// them is nil, is there twice, or cannot work, such as one that was made without a Redis client.
// New cannot see that two Clients lead to the same server, which would be counted twice.
func New(nodes []*redislock.Client, opts ...Option) (*Client, error) {
	if len(nodes) == 0 {
		return nil, errors.New("quorum: there are no nodes")
	}
	c := &Client{need: len(nodes)/2 + 1, done: make(chan struct{})}
	for i, client := range nodes {
		if client == nil {
			return nil, fmt.Errorf("quorum: nodes[%d] is nil", i)
		}
		if first := slices.Index(nodes, client); first < i {
			return nil, fmt.Errorf("quorum: nodes[%d] is nodes[%d] once more", i, first)
		}
		if err := useless(client); err != nil {
			return nil, fmt.Errorf("quorum: nodes[%d]: %w", i, err)
		}
		c.nodes = append(c.nodes, &node{quorum: c, client: client})
	}
	for _, opt := range opts {
		opt(c)
	}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c, nil
}

// useless reports why nothing can be done with a node, without sending anything: a lock that was
// attached and never refreshed has no lease to begin anew, so most often Upgrade has only that to say.
func useless(node *redislock.Client) error {
	err := node.Attach([]string{"key"}, "nobody").Upgrade(context.Background())
	if errors.Is(err, redislock.ErrInvalidTTL) {
		return nil
	}
	return errors.Unwrap(err) // nobody has asked for an upgrade
}

// Close ends everything that the Client does in the background. Nodes that a lock has lost are not
// won back any more, and nodes that do not answer are not tried again. Close waits for the requests
// that are under way, for each of them no longer than the node time-out. Afterwards Obtain returns
// an error that is [redis.ErrClosed]. Locks stay as they are, and can still be released.
func (c *Client) Close() {
	if c.usable() != nil {
		return
	}
	c.mu.Lock()
	if !c.closed.Swap(true) {
		c.dismissLocked(len(c.idle))
		if c.timer != nil {
			c.timer.Stop()
		}
		if c.under == 0 {
			close(c.done)
		}
	}
	c.mu.Unlock()
	c.end()
	<-c.done
}

// usable reports why the client cannot do anything at all.
func (c *Client) usable() error {
	switch {
	case c == nil:
		return errors.New("the Client is nil")
	case len(c.nodes) == 0:
		return errors.New("the Client was not made by New")
	}
	return nil
}

// patience returns how long a node has to answer what concerns a lease of ttl. One that waits for
// replicas needs as long for these.
func (c *Client) patience(ttl time.Duration, replicas int) time.Duration {
	if c.timeout > 0 {
		return min(c.timeout, max(ttl, time.Millisecond)) // an answer after the lease is of no use
	}
	patience := max(min(ttl/4, mostPatience), time.Millisecond)
	if replicas > 0 {
		patience *= 2
	}
	return patience
}

// checkTTL refuses a lease that no node would give, or that would outlast the quarantine.
func (c *Client) checkTTL(ttl time.Duration) error {
	switch {
	case ttl <= 0 || ttl > mostTTL:
		return fmt.Errorf("%w: %s is not between 1ms and %s", redislock.ErrInvalidTTL, ttl, mostTTL)
	case c.longest > 0 && ttl > c.longest:
		return fmt.Errorf("%w: %s is longer than the quarantine of %s", redislock.ErrInvalidTTL, ttl, c.longest)
	}
	return nil
}
