package listen

import (
	"strconv"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// NameLength is how much of the id of a waiter is the name by which messages call it. The rest is a secret: it is told
// with the grant alone, and so that message is believed.
const NameLength = 8

// A Waiter waits for a set of keys: it asks every now and then, and hears when that is worth while. One
// goroutine uses it. Its lower half is guarded by the mutex of the hub.
type Waiter struct {
	ID      string
	Channel string // on which it is told
	hub     *Hub
	keys    []string
	changed chan struct{} // full if something below has changed

	timer   *time.Timer  // when to ask again; nil as long as it does not wait
	due     clock.Moment // the same; zero: it has heard of no time
	late    clock.Moment // the same, unless somebody confirms its place before; zero: nobody does
	on      *server      // nil: it is not subscribed
	joined  int          // how often it was
	err     error        // why
	wake    bool         // to ask again
	granted *Grant
	told    bool // its secret: whoever listens may know it by now

	confirmed Confirmation // the latest one that was of this subscription
}

// A Grant says that what a waiter waits for was given to it.
type Grant struct {
	Micros int64 // when, on the server's clock
	Number int64 // that was given with it; 0 without
}

// A Confirmation says that a waiter stands where it stood.
type Confirmation struct {
	Sent   clock.Moment // before the server was asked
	Micros int64        // when it answered, on its own clock
}

// News is what a waiter has heard since it was asked last.
type News struct {
	Granted    *Grant
	Wake       bool  // it is to ask again
	Subscribed bool  // its channel is heard
	Err        error // why it is not any more
	Confirmed  Confirmation
}

// NewWaiter makes a waiter for a set of keys, whose id no other has, and nobody else knows.
func (h *Hub) NewWaiter(id string, keys []string) *Waiter {
	return &Waiter{ID: id, hub: h, keys: keys, Channel: h.channel(keys[0]), changed: make(chan struct{}, 1)}
}

// name is what messages call it.
func (w *Waiter) name() string { return w.ID[:NameLength] }

// wakeLocked has the waiter ask now.
func (w *Waiter) wakeLocked() {
	w.wake = true
	w.notify()
}

// grantLocked takes in a grant. The first one that knows the secret is from Redis: it is on its way as soon as anybody
// hears the secret. What comes behind it may be from anybody, so the waiter asks.
func (w *Waiter) grantLocked(id string, g Grant) {
	switch {
	case w == nil || w.ID != id:
	case w.told:
		w.wakeLocked()
	default:
		w.granted, w.told = &g, true
		w.notify()
	}
}

// notify says that there is something new.
func (w *Waiter) notify() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// C returns a channel that has something when there is news.
func (w *Waiter) C() <-chan struct{} { return w.changed }

// Due returns a channel that has something when it is time to ask again, as AskAt says.
func (w *Waiter) Due() <-chan time.Time { return w.timer.C }

// JoinSubscribed has the waiter hear its channel if that is heard already. Otherwise it reports false.
func (w *Waiter) JoinSubscribed() bool {
	h := w.hub
	source, err := h.source.Of(w.keys[0])
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.servers[source]
	if err != nil || s == nil || s.channels[w.Channel] == nil || !s.channels[w.Channel].heard {
		return false
	}
	w.joinLocked(s)
	return true
}

// Subscribe begins to have the waiter hear its channel. It does not wait: what comes of it is news.
func (w *Waiter) Subscribe() {
	h := w.hub
	source, err := h.source.Of(w.keys[0])
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case w.on != nil:
		return
	case h.closed:
		err = wire.ErrClosed
	}
	if err != nil {
		w.err = err
		w.notify()
		return
	}
	s, isNew := h.serverLocked(source)
	w.joinLocked(s)
	if isNew {
		h.ended.Go(s.hear)
		return
	}
	switch c := s.channels[w.Channel]; {
	case c.heard:
		w.wakeLocked()
	case len(c.waiters) == 1 && s.pubsub != nil:
		h.ended.Go(func() { _ = s.subscribe(s.pubsub, w.Channel) }) // if it fails, so does receiving
	}
}

func (w *Waiter) joinLocked(s *server) {
	h := w.hub
	c := s.channelLocked(w.Channel)
	c.waiters[w] = struct{}{}
	w.on, w.err, w.confirmed = s, nil, Confirmation{}
	w.joined++
	if h.waiters[w.name()] == nil {
		h.waiters[w.name()] = w
		h.fronts[w.keys[0]]++
		h.waiting.Add(1)
	}
}

// Ask takes note that the waiter is about to ask: what it hears from now on counts. A waiter that is
// subscribed where its key is not any more is so no longer. It reports whether the channel is heard.
func (w *Waiter) Ask() (subscribed bool) {
	h := w.hub
	source, err := h.source.Of(w.keys[0])
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && w.on != nil && w.on.source != source {
		w.detachLocked()
	}
	w.wake, w.due, w.late, w.confirmed = false, clock.Moment{}, clock.Moment{}, Confirmation{}
	return w.isSubscribedLocked()
}

func (w *Waiter) isSubscribedLocked() bool { return w.on != nil && w.on.channels[w.Channel].heard }

// NotHeard ends the channel of a waiter, and with it that of others: it is heard at another server than
// the one where the keys are.
func (w *Waiter) NotHeard() {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.on != nil {
		w.on.loseLocked(w.Channel, errNotHeard)
		w.err = nil // it knows
	}
}

// Others reports whether others of this client wait for a set that begins with the same key.
func (w *Waiter) Others() bool { return w.hub.isWaited(w.keys[0], w) }

// Quit ends the waiter.
func (w *Waiter) Quit() {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	if h.waiters[w.name()] != w {
		return
	}
	delete(h.waiters, w.name())
	h.waiting.Add(-1)
	first := w.keys[0]
	if h.fronts[first]--; h.fronts[first] == 0 {
		delete(h.fronts, first)
	}
	w.detachLocked()
}

// detachLocked takes a waiter off its server, which it may be the last one to need.
func (w *Waiter) detachLocked() {
	s := w.on
	if s == nil {
		return
	}
	w.on = nil
	c := s.channels[w.Channel]
	delete(c.waiters, w)
	s.idleLocked(c)
}

// AskAt sets when the waiter is to ask again, if it has not heard of a sooner time meanwhile.
func (w *Waiter) AskAt(wait time.Duration) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.askAtLocked(wait)
	w.setTimerLocked()
}

func (w *Waiter) askAtLocked(wait time.Duration) {
	if due := clock.Now().Add(wait); w.due == (clock.Moment{}) || due.Precedes(w.due) {
		w.due = due
	}
}

// setTimerLocked has a waiter ask again at whichever of its times comes first.
func (w *Waiter) setTimerLocked() {
	at := w.due
	if at == (clock.Moment{}) || w.late.Precedes(at) && w.late != (clock.Moment{}) {
		at = w.late
	}
	wait := clock.Now().Until(at)
	if w.timer == nil {
		w.timer = time.NewTimer(wait)
	} else {
		w.timer.Reset(wait)
	}
}

// AskLate is AskAt for a waiter whose place others will confirm: if nobody does it is to ask at the latest after late. It
// returns what tells its subscription from others, for Confirm.
func (w *Waiter) AskLate(wait, late time.Duration) (subscription int) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.askAtLocked(wait)
	w.late = clock.Now().Add(late)
	w.setTimerLocked()
	return w.joined
}

// AskIn has a waiter that waits ask again so soon, if it would not sooner. Any goroutine may call it, and Confirm.
func (w *Waiter) AskIn(wait time.Duration) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.askAtLocked(wait)
	w.setTimerLocked()
}

// Confirm says that a waiter with this subscription has its place still: if nobody does so again it is to ask at the latest
// after late.
func (w *Waiter) Confirm(subscription int, c Confirmation, late time.Duration) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.joined == subscription && w.isSubscribedLocked() {
		w.confirmed = c
	}
	w.late = clock.Now().Add(late)
	w.setTimerLocked()
}

// askInLocked has a waiter ask again in so many milliseconds, if it would not have so soon.
func (w *Waiter) askInLocked(text string) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if w == nil || err != nil || ms < 0 {
		return
	}
	w.askAtLocked(clock.FromMillis(ms) + clock.AfterEnd)
	if w.timer != nil {
		w.setTimerLocked()
	}
}

// News takes what the waiter has heard.
func (w *Waiter) News() News {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	news := News{Granted: w.granted, Wake: w.wake, Subscribed: w.isSubscribedLocked(), Err: w.err, Confirmed: w.confirmed}
	w.granted, w.wake, w.err, w.confirmed = nil, false, nil, Confirmation{}
	return news
}
