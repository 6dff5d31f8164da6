package listen

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// NoticeChannel is the channel on which every client that listens is told of broken locks. It is not a channel of
// sharded pub/sub, so on a Cluster it is heard at every node.
const NoticeChannel = "redislock:break"

const (
	// mostNamed is how many bytes of keys a notice names; of a larger set it names none.
	mostNamed = 8 << 10
	// mostNotice is the most bytes of a notice that is accepted.
	mostNotice = mostNamed + 4<<10
	// firstPause and lastPause are how long a listener waits before it tries again to hear anything.
	firstPause = 100 * time.Millisecond
	lastPause  = 30 * time.Second
)

// A Notice says that locks were broken. It is a hint: anyone who may publish may have sent it, at any time.
type Notice struct {
	Reason string
	Keys   []string // some of these were broken; nil: any may have been
	Ended  bool     // nobody has broken them: their leases ended before the time that the holders know

	named map[string]bool // the same keys, of a notice that was heard
}

// Text is the notice as it is published: `b|#reason|#keys|reason`, and `#key|key` for each key; `e` in the place of `b`
// if they have ended.
func (n Notice) Text() string {
	size := 0
	for _, key := range n.Keys {
		size += len(key) + 8
	}
	if size > mostNamed {
		n.Keys = nil
	}
	kind := "b|"
	if n.Ended {
		kind = "e|"
	}
	b := []byte(kind + strconv.Itoa(len(n.Reason)) + "|" + strconv.Itoa(len(n.Keys)) + "|" + n.Reason)
	for _, key := range n.Keys {
		b = strconv.AppendInt(b, int64(len(key)), 10)
		b = append(append(b, '|'), key...)
	}
	return string(b)
}

// ParseNotice reads a notice, and reports whether it is one.
func ParseNotice(text string) (n Notice, ok bool) {
	rest, ok := strings.CutPrefix(text, "b|")
	if !ok {
		rest, ok = strings.CutPrefix(text, "e|")
		n.Ended = ok
	}
	if !ok || len(text) > mostNotice {
		return n, false
	}
	number := func() (value int) {
		digits, behind, found := strings.Cut(rest, "|")
		value, err := strconv.Atoi(digits)
		ok = ok && found && err == nil && value >= 0
		rest = behind
		return value
	}
	take := func(length int) (part string) {
		if ok = ok && length <= len(rest); ok {
			part, rest = rest[:length], rest[length:]
		}
		return part
	}
	length, keys := number(), number()
	n.Reason = take(length)
	for ; keys > 0 && ok; keys-- {
		key := take(number())
		if n.named == nil {
			n.named = make(map[string]bool)
		}
		n.Keys, n.named[key] = append(n.Keys, key), true
	}
	return n, ok && rest == ""
}

// Concerns reports whether one of the keys may have been broken, by a notice that was heard.
func (n Notice) Concerns(keys []string) bool {
	return n.Keys == nil || slices.ContainsFunc(keys, func(key string) bool { return n.named[key] })
}

// A Listener hears the notices at the server of a key for as long as it listens, except notices that are published
// while it is not subscribed. The mutex of the hub guards its lower half.
type Listener struct {
	Key  string
	Hear func(Notice) // must not wait for anything

	on *server
}

// listening is what a hub has of its listeners.
type listening struct {
	listeners map[*Listener]struct{}
	entry     clock.Entry // when the listeners without a subscription are to subscribe
	planned   bool
	faults    int             // in a row
	failed    func(err error) // is told of the first fault
}

// Deaf has a function told of the first of several faults in a row when listeners cannot subscribe. It is set before
// anybody listens.
func (h *Hub) Deaf(failed func(err error)) { h.notices.failed = failed }

// Listen begins to have a listener hear notices. It does not wait until the listener does.
func (h *Hub) Listen(l *Listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	if h.notices.listeners == nil {
		h.notices.listeners = make(map[*Listener]struct{})
		h.notices.entry.Task = relisten{h}
	}
	h.notices.listeners[l] = struct{}{}
	if !h.notices.planned { // else it is not long until the others try, too
		h.listenLocked(l)
	}
}

// Unlisten ends a listener.
func (h *Hub) Unlisten(l *Listener) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.notices.listeners, l)
	s := l.on
	if s == nil {
		return
	}
	l.on = nil
	c := s.channels[NoticeChannel]
	delete(c.listeners, l)
	s.idleLocked(c)
}

// listenLocked subscribes a listener at the server of its key. Nothing in it waits: see wire.Source.
func (h *Hub) listenLocked(l *Listener) {
	source, err := h.source.Of(l.Key)
	if err != nil {
		h.deafLocked(err)
		return
	}
	s, isNew := h.serverLocked(source)
	c := s.channelLocked(NoticeChannel)
	c.listeners[l] = struct{}{}
	l.on = s
	switch {
	case isNew:
		h.ended.Go(s.hear)
	case !c.heard && len(c.listeners) == 1 && s.pubsub != nil:
		h.ended.Go(func() { _ = s.subscribe(s.pubsub, NoticeChannel) }) // if it fails, so does receiving
	}
}

// deafLocked has listeners without a subscription try again, later each time.
func (h *Hub) deafLocked(err error) {
	n := &h.notices
	if n.planned || h.closed {
		return
	}
	pause := min(firstPause<<min(n.faults, 10), lastPause)
	if n.faults++; n.faults == 1 && n.failed != nil {
		h.ended.Go(func() { n.failed(err) })
	}
	n.planned = h.schedule.Put(&n.entry, clock.Now().Add(pause), 0)
}

// A relisten has the listeners of a hub subscribe that have no subscription.
type relisten struct{ hub *Hub }

// Run does so.
func (r relisten) Run(clock.Moment) {
	h := r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notices.planned = false
	for l := range h.notices.listeners {
		if h.closed || h.notices.planned { // then they do it the next time
			return
		}
		if l.on == nil {
			h.listenLocked(l)
		}
	}
}

// hearNotice hands a notice to the listeners at this server.
func (s *server) hearNotice(text string) {
	n, ok := ParseNotice(text)
	if !ok {
		return
	}
	var all []*Listener
	s.hub.mu.Lock()
	if c := s.channels[NoticeChannel]; c != nil {
		all = slices.Collect(maps.Keys(c.listeners))
	}
	s.hub.mu.Unlock()
	for _, l := range all {
		l.Hear(n)
	}
}

// detachListenersLocked takes all listeners off a channel that has broken.
func (h *Hub) detachListenersLocked(c *channel, err error) {
	if len(c.listeners) == 0 {
		return
	}
	for l := range c.listeners {
		l.on = nil
	}
	h.deafLocked(err)
}
