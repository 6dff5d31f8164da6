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

	mu      sync.Mutex
	closed  bool
	by      map[subscriber]*listener
	waiters map[string]*waiter // by id
	fronts  map[string]int     // waiters by the first key of their set
	ended   sync.WaitGroup
}

func newListeners(c *Client) *listeners {
	ls := &listeners{
		client: c, name: newToken(),
		by: make(map[subscriber]*listener), waiters: make(map[string]*waiter), fronts: make(map[string]int),
	}
	switch rdb := c.transport.rdb.(type) {
	case interface {
		MasterForKey(ctx context.Context, key string) (*redis.Client, error)
	}:
		ls.tagged, ls.shards = true, true
		ls.source = func(key string) (subscriber, error) { return rdb.MasterForKey(context.Background(), key) }
	case interface {
		GetShardClientForKey(key string) (*redis.Client, error)
	}:
		ls.tagged = true
		ls.source = func(key string) (subscriber, error) { return rdb.GetShardClientForKey(key) }
	case subscriber:
		ls.source = func(string) (subscriber, error) { return rdb, nil }
	}
	return ls
}

// check reports whether the Redis client can hear anything at all.
func (ls *listeners) check() error {
	if ls.source == nil {
		return fmt.Errorf("%w: Options.Queue needs a Redis client that can subscribe, and %T has no Subscribe and SSubscribe",
			errors.ErrUnsupported, ls.client.transport.rdb)
	}
	return nil
}

// channel names the channel on which this Client hears of a key.
func (ls *listeners) channel(key string) string {
	if !ls.tagged {
		return "redislock:wake:" + ls.name
	}
	return "redislock:wake:{" + hashTag(key) + "}:" + ls.name
}

// A listener hears the channels of one server.
type listener struct {
	of       *listeners
	source   subscriber
	entry    entry
	pubsub   *redis.PubSub       // nil until it runs
	channels map[string]*channel // guarded, as is all below, by the mutex of the listeners
	planned  bool                // it is in the schedule, to be tidied up
	broken   bool
}

// A channel is one that a listener hears, or is about to.
type channel struct {
	heard   bool
	waiters map[*waiter]struct{}
	idle    moment // since when it has none
}

// hear hears the channels until the connection breaks or nobody needs it any more.
func (l *listener) hear() {
	ctx := context.Background()
	var pubsub *redis.PubSub
	if l.of.shards {
		pubsub = l.source.SSubscribe(ctx)
	} else {
		pubsub = l.source.Subscribe(ctx)
	}
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
			err, silent = l.receive(what), false
		case !silent && errors.As(err, &late) && late.Timeout():
			// Subscribing once more does nothing but have the server answer.
			err, silent = l.subscribe(pubsub, names[0]), true
		}
	}
	l.of.client.transport.failed(err)
	l.of.mu.Lock()
	l.breakLocked(err)
	l.of.mu.Unlock()
}

func (l *listener) subscribe(pubsub *redis.PubSub, names ...string) error {
	if l.of.shards {
		return pubsub.SSubscribe(context.Background(), names...)
	}
	return pubsub.Subscribe(context.Background(), names...)
}

func (l *listener) unsubscribe(pubsub *redis.PubSub, names ...string) {
	if l.of.shards {
		_ = pubsub.SUnsubscribe(context.Background(), names...)
	} else {
		_ = pubsub.Unsubscribe(context.Background(), names...)
	}
}

// breakLocked ends the listener: its waiters hear nothing any more, and are told why.
func (l *listener) breakLocked(err error) {
	if l.broken {
		return
	}
	l.broken = true
	delete(l.of.by, l.source)
	l.of.client.schedule.drop(&l.entry)
	for _, c := range l.channels {
		for w := range c.waiters {
			w.on, w.fault = nil, err
			w.tell()
		}
	}
	if l.pubsub != nil {
		pubsub := l.pubsub
		l.of.ended.Go(func() { _ = pubsub.Close() }) // it may wait for who subscribes just now
	}
}

// run drops the channels that nobody has needed for a while, and with the last of them the
// connection.
func (l *listener) run(at moment) {
	ls := l.of
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.planned = false
	if l.broken {
		return
	}
	var unused []string
	var next moment
	for name, c := range l.channels {
		switch end := c.idle.add(linger); {
		case len(c.waiters) > 0:
		case at.precedes(end):
			if next == (moment{}) || end.precedes(next) {
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
	if next != (moment{}) {
		l.planned = true
		ls.client.schedule.put(&l.entry, next, 0)
	}
	if len(unused) > 0 && l.pubsub != nil {
		ls.ended.Go(func() { l.unsubscribe(l.pubsub, unused...) })
	}
}

// receive takes in what the connection has brought. An error ends it.
func (l *listener) receive(what any) error {
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
			return errors.New("the server has ended the subscription: the slot has moved")
		case !c.heard:
			c.heard = true
			for w := range c.waiters {
				w.wake = true
				w.tell()
			}
		}
	}
	return nil
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
	ls.ended.Wait()
}
