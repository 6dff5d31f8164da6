package redislock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/slot"
)

const (
	// linger is how long a subscription outlives the last waiter that needed it.
	linger = 5 * time.Second
	// quiet is how long a connection may say nothing before it is asked whether it is still there.
	quiet = 10 * time.Second
)

// A subscriber is what a Redis client has to offer for its user to stand in line.
type subscriber interface {
	Subscribe(ctx context.Context, channels ...string) *redis.PubSub
	SSubscribe(ctx context.Context, channels ...string) *redis.PubSub
}

// Listeners hear what scripts publish to the waiters of one Client. There is one for each server
// that somebody waits for, with one connection; it comes with the first waiter and goes a little
// after the last.
type listeners struct {
	client *Client
	source func(key string) (subscriber, error) // that hears of a key; nil if there can be none
	tagged bool                                 // channels have to be where the key is
	shards bool                                 // sharded pub/sub
	name   string                               // in every channel of the client

	waiting atomic.Int64 // waiters

	mu       sync.Mutex
	closed   bool
	by       map[subscriber]*listener
	waiters  map[string]*waiter // by id
	fronts   map[string]int     // waiters by the first key of their set
	ended    sync.WaitGroup
	standing sync.WaitGroup  // Obtains, until they have left nothing behind
	ctx      context.Context // of all that is sent, until end
	end      context.CancelFunc
}

func newListeners(c *Client) *listeners {
	ls := &listeners{
		client: c, name: newToken(),
		by: make(map[subscriber]*listener), waiters: make(map[string]*waiter), fronts: make(map[string]int),
	}
	ls.ctx, ls.end = context.WithCancel(context.Background())
	switch rdb := c.transport.direct.(type) {
	case masterFinder:
		ls.tagged, ls.shards = true, true
		ls.source = func(key string) (subscriber, error) {
			if !c.transport.warm.Load() {
				return nil, errCold
			}
			return rdb.MasterForKey(context.Background(), key)
		}
	case shardFinder:
		ls.tagged = true
		ls.source = func(key string) (subscriber, error) { return rdb.GetShardClientForKey(key) }
	case subscriber:
		ls.source = func(string) (subscriber, error) { return rdb, nil }
	}
	return ls
}

var (
	// errMoved says that the server has ended a subscription: the slot of its channel has moved.
	errMoved = errors.New("the channel has moved")
	// errDeaf says that what is published on a channel where its keys are does not arrive.
	errDeaf = errors.New("the channel is not heard where its keys are")
	// errCold says that a Cluster client has not answered yet, so that finding a node may take long.
	errCold = errors.New("the nodes of the Cluster are not known yet")
)

// check reports whether the Redis client can hear anything at all.
func (ls *listeners) check() error {
	if ls.source == nil {
		return fmt.Errorf("%w: Options.Queue subscribes, and of a %T only Eval and EvalSha are used: say with WithWrapped what it wraps",
			errors.ErrUnsupported, ls.client.transport.rdb)
	}
	return nil
}

// channel names the channel on which this Client hears of a key.
func (ls *listeners) channel(key string) string {
	if !ls.tagged {
		return "redislock:wake:" + ls.name
	}
	return "redislock:wake:{" + slot.InBraces(key) + "}:" + ls.name
}

// A listener hears the channels of one server.
type listener struct {
	of       *listeners
	source   subscriber
	entry    clock.Entry
	pubsub   *redis.PubSub       // nil until it runs
	channels map[string]*channel // guarded, as is all below, by the mutex of the listeners
	planned  bool                // it is in the schedule, to be tidied up
	probed   bool                // the server was asked whether it is still there
	broken   bool
}

// A channel is one that a listener hears, or is about to.
type channel struct {
	heard   bool
	waiters map[*waiter]struct{}
	idle    clock.Moment // since when it has none
}

// hear hears the channels until the connection breaks or nobody needs it any more.
func (l *listener) hear() {
	ctx := l.of.ctx
	pubsub := l.source.Subscribe(ctx) // nothing yet
	defer func() { _ = pubsub.Close() }()

	l.of.mu.Lock()
	l.pubsub = pubsub
	names := make([]string, 0, len(l.channels))
	for name := range l.channels {
		names = append(names, name)
	}
	over := l.broken
	l.of.mu.Unlock()
	if over {
		return
	}
	err := l.subscribe(pubsub, names...)
	for silent := false; err == nil; {
		var what any
		what, err = pubsub.ReceiveTimeout(ctx, quiet)
		var late interface{ Timeout() bool }
		switch {
		case err == nil:
			l.receive(what)
			silent = false
		case l.refused(err):
			err = nil
		case !silent && errors.As(err, &late) && late.Timeout():
			err, silent = l.probe(pubsub), true
		}
	}
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	if !l.broken {
		l.of.client.transport.failed(err)
		l.breakLocked(err)
	}
}

// refused takes in an answer of the server that is an error, which concerns the channels that are
// not heard yet. It reports false if it is not that.
func (l *listener) refused(err error) bool {
	if _, answer := errors.AsType[redis.Error](err); !answer {
		return false
	}
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	some := false
	for name, c := range l.channels {
		if !c.heard && len(c.waiters) > 0 {
			some = true
			l.loseLocked(name, err)
		}
	}
	return some && !l.broken
}

// loseLocked ends one channel: its waiters hear nothing any more, and are told why. The connection
// goes with the last one.
func (l *listener) loseLocked(name string, err error) {
	l.of.client.transport.failed(err)
	l.dropLocked(l.channels[name], err)
	delete(l.channels, name)
	if len(l.channels) == 0 {
		l.breakLocked(err)
	}
}

func (l *listener) dropLocked(c *channel, err error) {
	for w := range c.waiters {
		w.on, w.fault = nil, err
		w.tell()
	}
}

// probe has the server answer: subscribing once more does nothing else.
func (l *listener) probe(pubsub *redis.PubSub) error {
	l.of.mu.Lock()
	var name string
	for each, c := range l.channels {
		if len(c.waiters) > 0 {
			name = each
			break
		}
	}
	l.probed = name != ""
	l.of.mu.Unlock()
	if name == "" {
		return nil
	}
	return l.subscribe(pubsub, name)
}

// subscribe sends a command for each channel: those of one have to be of one slot.
func (l *listener) subscribe(pubsub *redis.PubSub, names ...string) error {
	do := pubsub.Subscribe
	if l.of.shards {
		do = pubsub.SSubscribe
	}
	for _, name := range names {
		if err := do(l.of.ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (l *listener) unsubscribe(pubsub *redis.PubSub, names ...string) {
	do := pubsub.Unsubscribe
	if l.of.shards {
		do = pubsub.SUnsubscribe
	}
	for _, name := range names {
		_ = do(l.of.ctx, name) // if it fails, so does receiving
	}
}

// breakLocked ends the listener: its waiters hear nothing any more, and are told why.
func (l *listener) breakLocked(err error) {
	if l.broken {
		return
	}
	l.broken = true
	delete(l.of.by, l.source)
	l.of.client.schedule.Drop(&l.entry)
	for _, c := range l.channels {
		l.dropLocked(c, err)
	}
	if l.pubsub != nil {
		pubsub := l.pubsub
		l.of.ended.Go(func() { _ = pubsub.Close() }) // it may wait for who subscribes just now
	}
}

// Run drops the channels that nobody has needed for a while, and with the last of them the
// connection.
func (l *listener) Run(at clock.Moment) {
	ls := l.of
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.planned = false
	if l.broken {
		return
	}
	var unused []string
	var next clock.Moment
	for name, c := range l.channels {
		switch end := c.idle.Add(linger); {
		case len(c.waiters) > 0:
		case at.Precedes(end):
			if next == (clock.Moment{}) || end.Precedes(next) {
				next = end
			}
		default:
			unused = append(unused, name)
			delete(l.channels, name)
		}
	}
	if len(l.channels) == 0 {
		l.breakLocked(errClosed)
		return
	}
	if next != (clock.Moment{}) {
		l.planned = true
		ls.client.schedule.Put(&l.entry, next, 0)
	}
	if len(unused) > 0 && l.pubsub != nil {
		ls.ended.Go(func() { l.unsubscribe(l.pubsub, unused...) })
	}
}

// receive takes in what the connection has brought.
func (l *listener) receive(what any) {
	ls := l.of
	ls.mu.Lock()
	defer ls.mu.Unlock()
	switch what := what.(type) {
	case *redis.Message:
		ls.hearLocked(what.Payload)
	case *redis.Subscription:
		c := l.channels[what.Channel]
		switch {
		case c == nil:
		case strings.HasSuffix(what.Kind, "unsubscribe"):
			l.loseLocked(what.Channel, errMoved)
		case c.heard && l.probed:
			l.probed = false
		default: // or once more, if go-redis has opened a new connection by itself
			c.heard = true
			for w := range c.waiters {
				w.wake = true
				w.tell()
			}
		}
	}
}

// admit takes note of an Obtain that may stand in line; its end is told to standing. It reports
// false if the client is closed.
func (ls *listeners) admit() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed {
		return false
	}
	ls.standing.Add(1)
	return true
}

// close ends all listeners, tells their waiters, and waits until nothing goes on any more.
func (ls *listeners) close() {
	ls.mu.Lock()
	ls.closed = true
	for _, l := range ls.by {
		l.breakLocked(errClosed)
	}
	for _, w := range ls.waiters {
		w.tell()
	}
	ls.mu.Unlock()
	ls.end()
	ls.ended.Wait()
	ls.standing.Wait()
}
