package listen

import (
	"strconv"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// NameLength is how much of a waiter's id is its name in messages. The rest is a secret that only the grant tells,
// which is why that message is believed.
const NameLength = 8

// A Waiter waits for a set of keys: it asks every now and then, and hears when that is worth while. One goroutine uses
// it. The mutex of the hub guards its lower half.
type Waiter struct {
	ID      string
	Channel string        // on which it is told
	Owner   *owners.Owner // of the lock, if callers know its token; else nil
	hub     *Hub
	keys    []string
	changed chan struct{} // full if something below has changed

	timer   *time.Timer  // when to ask again; nil while it does not wait
	due     clock.Moment // the same; zero: it has heard of no time
	late    clock.Moment // the same, unless its place is confirmed before; zero: nobody confirms it
	on      *server      // nil: it is not subscribed
	joined  int          // how often it has subscribed
	err     error        // why it is not
	wake    bool         // to ask again
	granted *Grant
	told    bool // its secret was told: any listener may know it by now

	confirmed Confirmation // the latest confirmation during this subscription
}

// A Grant says that a waiter was given its keys.
type Grant struct {
	Micros int64 // when, on the server's clock
	Number int64 // the number given with it; 0 without
}

// A Confirmation says that a waiter stands where it stood.
type Confirmation struct {
	Sent   clock.Moment // a moment before the server was asked
	Micros int64        // when it answered, on its own clock
}

// News is what a waiter has heard since it last looked.
type News struct {
	Granted    *Grant
	Wake       bool  // it has to ask again
	Subscribed bool  // its channel is heard
	Err        error // why its channel is not heard any more
	Confirmed  Confirmation
}

// NewWaiter makes a waiter for a set of keys. No other waiter has its id, and nobody else knows it.
func (h *Hub) NewWaiter(id string, keys []string) *Waiter {
	return &Waiter{ID: id, hub: h, keys: keys, Channel: h.channel(keys[0]), changed: make(chan struct{}, 1)}
}

// name is its name in messages.
func (w *Waiter) name() string { return w.ID[:NameLength] }

// wakeLocked has the waiter ask now.
func (w *Waiter) wakeLocked() {
	w.wake = true
	w.notify()
}

// grantLocked handles a grant. The first grant that knows the secret is from Redis: it is on its way before anybody can
// hear the secret. A later one may be from anybody, so the waiter asks.
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

// Subscribe begins to have the waiter hear its channel. It does not wait: the result is news.
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
	switch c := s.channels[w.Channel]; {
	case isNew:
		h.ended.Go(s.hear)
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

// Ask notes that the waiter is about to ask: what it hears from now on counts. If it is subscribed at a server where
// its key no longer is, that subscription ends. It reports whether the channel is heard.
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

// NotHeard ends the channel of a waiter, and of others on it: it is heard at another server than the one with the keys.
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

// detachLocked takes a waiter off its server. It may be the last waiter there.
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

// AskAt has the waiter ask again after wait, if it has not heard of a sooner time meanwhile. Any goroutine may call AskAt and
// Confirm.
func (w *Waiter) AskAt(wait time.Duration) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.askAtLocked(wait)
}

func (w *Waiter) askAtLocked(wait time.Duration) {
	if due := clock.Now().Add(wait); w.due == (clock.Moment{}) || due.Precedes(w.due) {
		w.due = due
	}
	w.setTimerLocked()
}

// setTimerLocked has a waiter ask again at the first of its times.
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

// AskLate is AskAt for a waiter whose place others will confirm. If nobody does, it asks at the latest after late. It
// returns a number that tells its subscription from others, for Confirm.
func (w *Waiter) AskLate(wait, late time.Duration) (subscription int) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	w.late = clock.Now().Add(late)
	w.askAtLocked(wait)
	return w.joined
}

// Confirm says that a waiter with this subscription still has its place. If nobody confirms it again it asks at the
// latest after late.
func (w *Waiter) Confirm(subscription int, c Confirmation, late time.Duration) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if w.joined == subscription && w.isSubscribedLocked() {
		w.confirmed = c
	}
	w.late = clock.Now().Add(late)
	w.setTimerLocked()
}

// askInLocked has a waiter ask again in so many milliseconds, if it would not ask sooner.
func (w *Waiter) askInLocked(text string) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if w == nil || err != nil || ms < 0 {
		return
	}
	w.askAtLocked(clock.FromMillis(ms) + clock.AfterEnd)
}

// News takes what the waiter has heard.
func (w *Waiter) News() News {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	news := News{Granted: w.granted, Wake: w.wake, Subscribed: w.isSubscribedLocked(), Err: w.err, Confirmed: w.confirmed}
	w.granted, w.wake, w.err, w.confirmed = nil, false, nil, Confirmation{}
	return news
}
