package listen

import (
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/wire"
)

const (
	// idleLife is how long a subscription outlives the last waiter that needed it.
	idleLife = 5 * time.Second
	// quiet is how long a connection may say nothing before it is asked whether it is still there.
	quiet = 10 * time.Second
)

var (
	// errMoved says that the server has ended a subscription: the slot of its channel has moved.
	errMoved = errors.New("the channel has moved")
	// errNotHeard says that messages published where the keys of a channel are do not arrive.
	errNotHeard = errors.New("the channel is not heard where its keys are")
)

// A server has the channels that one server publishes to us, over one connection.
type server struct {
	hub      *Hub
	source   wire.Subscriber
	entry    clock.Entry
	pubsub   *redis.PubSub       // nil until it runs
	turn     chan struct{}       // full while somebody sends on the connection, or makes it
	channels map[string]*channel // guarded, as all below, by the mutex of the hub
	probed   bool                // the server was asked whether it is still there
	broken   bool
}

// A channel is subscribed, or about to be.
type channel struct {
	heard     bool
	waiters   map[*Waiter]struct{}
	listeners map[*Listener]struct{} // of NoticeChannel
	idle      clock.Moment           // since when it has had none of either
}

// isUsed reports whether somebody needs the channel.
func (c *channel) isUsed() bool { return len(c.waiters)+len(c.listeners) > 0 }

// serverLocked finds a server, or makes one that has yet to hear.
func (h *Hub) serverLocked(source wire.Subscriber) (s *server, isNew bool) {
	if s = h.servers[source]; s != nil {
		return s, false
	}
	s = &server{hub: h, source: source, turn: make(chan struct{}, 1), channels: make(map[string]*channel)}
	s.entry.Task = s
	h.servers[source] = s
	h.hears.Store(int64(len(h.servers)))
	return s, true
}

// channelLocked finds a channel, or enters one that is not heard yet.
func (s *server) channelLocked(name string) *channel {
	c := s.channels[name]
	if c == nil {
		c = &channel{waiters: make(map[*Waiter]struct{}), listeners: make(map[*Listener]struct{})}
		s.channels[name] = c
	}
	return c
}

// hear hears the channels until the connection breaks or nobody needs it any more.
func (s *server) hear() {
	ctx := s.hub.ctx
	pubsub := s.source.Subscribe(ctx) // nothing yet

	s.hub.mu.Lock()
	s.pubsub = pubsub
	names := make([]string, 0, len(s.channels))
	for name := range s.channels {
		names = append(names, name)
	}
	over := s.broken
	s.hub.mu.Unlock()
	if over {
		return
	}
	err := s.subscribe(pubsub, names...)
	for silent := false; err == nil; {
		var what any
		what, err = pubsub.ReceiveTimeout(ctx, quiet)
		var late interface{ Timeout() bool }
		switch {
		case err == nil:
			s.receive(what)
			silent = false
		case s.refused(err):
			err = nil
		case !silent && errors.As(err, &late) && late.Timeout():
			err, silent = s.probe(pubsub), true
		}
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if !s.broken {
		s.hub.conn.Failed(err)
		s.breakLocked(err)
	}
}

// refused handles an error that the server answers, which concerns the channels that are not heard yet. It reports
// false if it is no such error.
func (s *server) refused(err error) bool {
	if _, answer := errors.AsType[redis.Error](err); !answer {
		return false
	}
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	some := false
	for name, c := range s.channels {
		if !c.heard && c.isUsed() {
			some = true
			s.loseLocked(name, err)
		}
	}
	return some && !s.broken
}

// loseLocked ends one channel: its waiters hear nothing any more, and are told why. The connection ends with the last
// channel.
func (s *server) loseLocked(name string, err error) {
	s.hub.conn.Failed(err)
	s.dropLocked(s.channels[name], err)
	delete(s.channels, name)
	if len(s.channels) == 0 {
		s.breakLocked(err)
	}
}

func (s *server) dropLocked(c *channel, err error) {
	for w := range c.waiters {
		w.on, w.err = nil, err
		w.notify()
	}
	s.hub.detachListenersLocked(c, err)
}

// probe makes the server answer: to subscribe once more does nothing else.
func (s *server) probe(pubsub *redis.PubSub) error {
	s.hub.mu.Lock()
	var name string
	for each, c := range s.channels {
		if c.isUsed() {
			name = each
			break
		}
	}
	s.probed = name != ""
	s.hub.mu.Unlock()
	if name == "" {
		return nil
	}
	return s.subscribe(pubsub, name)
}

// subscribe sends a command for each channel, because the channels of one command have to be in one slot.
func (s *server) subscribe(pubsub *redis.PubSub, names ...string) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-s.hub.ctx.Done():
		return s.hub.ctx.Err()
	}
	for _, name := range names {
		do := pubsub.Subscribe
		if s.hub.source.Sharded && name != NoticeChannel {
			do = pubsub.SSubscribe
		}
		if err := do(s.hub.ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) unsubscribe(pubsub *redis.PubSub, names ...string) {
	do := pubsub.Unsubscribe
	if s.hub.source.Sharded {
		do = pubsub.SUnsubscribe
	}
	for _, name := range names {
		_ = do(s.hub.ctx, name) // if it fails, so does receiving
	}
}

// breakLocked ends the subscriptions: its waiters hear nothing any more, and are told why.
func (s *server) breakLocked(err error) {
	s.broken = true
	delete(s.hub.servers, s.source)
	s.hub.hears.Store(int64(len(s.hub.servers)))
	for _, c := range s.channels {
		s.dropLocked(c, err)
	}
	clear(s.channels) // what the connection still brings is for nobody: its waiters may have others by then
	if s.pubsub != nil {
		pubsub := s.pubsub
		s.hub.ended.Go(func() { _ = pubsub.Close() }) // it may wait for a goroutine that subscribes just now
	}
}

// idleLocked notes that somebody has left a channel. If that was the last one, the channel is dropped later.
func (s *server) idleLocked(c *channel) {
	if c.isUsed() {
		return
	}
	c.idle = clock.Now()
	s.hub.schedule.PutBy(&s.entry, c.idle.Add(idleLife))
}

// Run drops the channels that nobody has needed for a while, and the connection with the last of them. Until then
// notices are heard, and so is everything if there is one channel of waiters: a user need not have the right to
// unsubscribe.
func (s *server) Run(at clock.Moment) {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.broken {
		return
	}
	var unused []string
	var next clock.Moment
	used := false
	for name, c := range s.channels {
		switch end := c.idle.Add(idleLife); {
		case c.isUsed():
			used = true
		case at.Precedes(end):
			if next == (clock.Moment{}) || end.Precedes(next) {
				next = end
			}
		case h.source.Tagged && name != NoticeChannel:
			delete(s.channels, name)
			unused = append(unused, name)
		}
	}
	if !used && next == (clock.Moment{}) {
		s.breakLocked(wire.ErrClosed)
		return
	}
	if next != (clock.Moment{}) {
		h.schedule.PutBy(&s.entry, next)
	}
	if len(unused) > 0 && s.pubsub != nil {
		h.ended.Go(func() { s.unsubscribe(s.pubsub, unused...) })
	}
}

// receive handles what the connection has brought.
func (s *server) receive(what any) {
	h := s.hub
	if message, ok := what.(*redis.Message); ok && message.Channel == NoticeChannel {
		s.hearNotice(message.Payload)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch what := what.(type) {
	case *redis.Message:
		h.deliverLocked(what.Payload)
	case *redis.Subscription:
		c := s.channels[what.Channel]
		switch {
		case c == nil:
		case strings.HasSuffix(what.Kind, "unsubscribe"):
			s.loseLocked(what.Channel, errMoved)
		case c.heard && s.probed:
			s.probed = false
		default: // or once more, if go-redis has opened a new connection by itself
			c.heard = true
			if len(c.listeners) > 0 {
				h.notices.faults = 0
			}
			for w := range c.waiters {
				w.wakeLocked()
			}
		}
	}
}
