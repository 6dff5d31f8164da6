package quorum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/serial"
)

const (
	// mostPatience is the longest node time-out that is not asked for.
	mostPatience = time.Second
	// mostTTL is the longest lease that there is.
	mostTTL = clock.Longest
	// mostName is how many bytes a name has at most.
	mostName = 128
)

// errClosed is the error of operations that a closed Client refuses.
var errClosed = fmt.Errorf("the client is closed: %w", redis.ErrClosed)

// A Client obtains locks that a majority of independent servers holds. It is safe for concurrent
// use. It has goroutines only while a request is under way, and for two seconds after that.
type Client struct {
	nodes   []*node
	need    int           // how many nodes are a majority
	timeout time.Duration // of a node; 0: by the ttl
	waits   bool          // some node waits for replicas
	longest time.Duration // redislock.WithMinUptime of the nodes; 0: none
	hooks   redislock.Hooks

	ctx    context.Context // of work that nobody waits for
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
// at most one second; twice that if a node has [redislock.WithReplicas], because it waits for its
// replicas in turn.
func WithNodeTimeout(d time.Duration) Option { return func(c *Client) { c.timeout = max(d, 0) } }

// WithHooks makes the Client call hooks when something happens to one of its locks as a whole. The
// hooks of the Clients of the nodes tell what happens at each node: an Obtain at five nodes is five
// events there, some of them after it has returned, and one event here.
//
//   - Obtained, Refused, Waiting and Waited are about one Obtain. Event.Attempts is how often all
//     nodes were asked.
//   - Refreshed is about one [Lock.Refresh]. The watchdog renews at each node by itself, which only
//     the hooks of the nodes tell.
//   - Lost is called when no majority holds a lock any more that has a watchdog, a [Lock.Context] or
//     a [Lock.Lost], or when a Refresh has found that. A node that loses the lock while a majority has it is no event.
//   - Released is about one Release or Leave. Event.Kept is for how long a majority keeps the keys.
//
// If there are several, all of them are called, in this order. Default: no hooks, and nothing is measured.
func WithHooks(hooks ...redislock.Hooks) Option {
	return func(c *Client) { c.hooks = c.hooks.And(hooks...) }
}

// New makes a Client of a [redislock.Client] for each server. New sends nothing. The caller closes the
// Clients of the servers, after this one. It is an error if there are no Clients, if one of them is nil,
// is there twice, or cannot work, for example without a Redis client, or if they differ in
// [redislock.WithMinUptime]. New cannot see that two Clients lead to the same server, which would be
// counted twice.
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
		if d, first := client.MinUptime(), nodes[0].MinUptime(); d != first {
			return nil, fmt.Errorf("quorum: nodes[%d] has WithMinUptime(%s) and nodes[0] %s: all need the same", i, d, first)
		}
		c.waits = c.waits || client.Replicas() > 0
		c.nodes = append(c.nodes, &node{quorum: c, client: client})
	}
	c.longest = nodes[0].MinUptime()
	for _, opt := range opts {
		opt(c)
	}
	c.ctx, c.end = context.WithCancel(context.Background())
	return c, nil
}

// useless reports why nothing can be done with a node, without sending anything.
func useless(node *redislock.Client) error {
	return uselessLock(node.Attach([]string{"key"}, "nobody"))
}

// uselessLock does so by a lock that was attached. Before its first Refresh it has no lease to begin anew, so most
// often Upgrade complains only of that.
func uselessLock(attached *redislock.Lock) error {
	err := attached.Upgrade(context.Background())
	if errors.Is(err, &redislock.InvalidError{Argument: "ttl"}) {
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

// Attach makes a handle for keys that are held under a token, perhaps by another process, to release them, refresh
// them, or ask for their TTL, with the same majority as the lock itself. The token is the one of [Client.As]: without
// it each node has a token of its own. Attach sends nothing, and reports no error: with bad keys or a bad token every
// operation of the handle returns one.
//
// The handle knows neither the modes of the keys nor their leases. So Deadline and Context count from
// its first Refresh. Until then Nodes counts every node unless something else is known of it. It does
// not ask nodes that do not hold the keys to join in, and if Refresh finds that no majority holds them,
// it leaves the others as they are.
func (c *Client) Attach(keys []string, token string) *Lock {
	l := &Lock{attached: true, announced: true}
	if l.faulty = c.usable(); l.faulty != nil {
		return l
	}
	l.quorum, l.holds = c, make([]hold, len(c.nodes))
	l.want = want{token: token, set: redislock.Set{Write: slices.Clone(keys)}, patience: c.patience(mostTTL), id: serial.Next()}
	unfit := 0
	for i, n := range c.nodes {
		lock := n.client.Attach(keys, token)
		l.holds[i].lock = lock
		if err := uselessLock(lock); err != nil {
			l.faulty = cmp.Or(l.faulty, err)
			unfit++
		}
	}
	if unfit < len(c.nodes) { // what one node cannot have may be in order at the others
		l.faulty = nil
	}
	l.any = l.holds[0].lock
	return l
}

// patience returns how long a node has to answer a request about a lease of ttl. A node that waits
// for replicas needs as long again for these.
func (c *Client) patience(ttl time.Duration) time.Duration {
	if c.timeout > 0 {
		return min(c.timeout, max(ttl, time.Millisecond)) // an answer after the lease is of no use
	}
	patience := max(min(ttl/4, mostPatience), time.Millisecond)
	if c.waits {
		patience *= 2
	}
	return patience
}

// checkTTL refuses a lease that no node would give, or that would outlast what a node may have forgotten.
func (c *Client) checkTTL(ttl time.Duration) error {
	if err := clock.CheckTTL(ttl); err != nil {
		return &redislock.InvalidError{Argument: "ttl", Reason: err.Error()}
	}
	return c.checkOutlasts("ttl", ttl)
}

// checkOutlasts refuses a time for which keys would be taken, if WithMinUptime of the nodes waits for less.
func (c *Client) checkOutlasts(argument string, d time.Duration) error {
	if c.longest > 0 && d > c.longest {
		return invalid(argument, "%s is longer than the %s of WithMinUptime", d, c.longest)
	}
	return nil
}
