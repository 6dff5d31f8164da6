package redislock

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A waiter is an Obtain that may stand in line. Its lower half is guarded by the mutex of the
// listeners.
type waiter struct {
	id      string
	key     string // the first of its set
	keys    []string
	channel string
	news    chan struct{} // full if something below has changed

	timer   *time.Timer  // when to ask again; nil as long as it does not wait
	due     clock.Moment // the same
	on      *listener    // nil: it hears nothing
	fault   error        // why
	wake    bool         // to ask again
	granted *grant
}

// A grant says that a script has given a waiter its locks.
type grant struct {
	micros int64 // when, on the server's clock
	number int64 // its fencing number
}

func (ls *listeners) newWaiter(id string, keys []string) *waiter {
	return &waiter{id: id, key: keys[0], keys: keys, channel: ls.channel(keys[0]), news: make(chan struct{}, 1)}
}

func (w *waiter) tell() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// enter has the waiter hear its channel if that is heard already. Otherwise it reports false.
func (ls *listeners) enter(w *waiter) bool {
	source, err := ls.source(w.key)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.by[source]
	if err != nil || l == nil || l.channels[w.channel] == nil || !l.channels[w.channel].heard {
		return false
	}
	ls.enterLocked(w, l)
	return true
}

// join begins to have the waiter hear its channel. It does not wait: what comes of it is news.
func (ls *listeners) join(w *waiter) {
	source, err := ls.source(w.key)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	switch {
	case w.on != nil:
		return
	case ls.closed:
		err = errClosed
	}
	if err != nil {
		w.fault = err
		w.tell()
		return
	}
	l := ls.by[source]
	if l == nil {
		l = &listener{of: ls, source: source, channels: make(map[string]*channel)}
		l.entry.Task = l
		ls.by[source] = l
		ls.enterLocked(w, l)
		ls.ended.Go(l.hear)
		return
	}
	ls.enterLocked(w, l)
	switch c := l.channels[w.channel]; {
	case c.heard:
		w.wake = true
		w.tell()
	case len(c.waiters) == 1 && l.pubsub != nil:
		ls.ended.Go(func() { _ = l.subscribe(l.pubsub, w.channel) }) // if it fails, so does receiving
	}
}

func (ls *listeners) enterLocked(w *waiter, l *listener) {
	c := l.channels[w.channel]
	if c == nil {
		c = &channel{waiters: make(map[*waiter]struct{})}
		l.channels[w.channel] = c
	}
	c.waiters[w] = struct{}{}
	w.on, w.fault = l, nil
	if ls.waiters[w.id] == nil {
		ls.waiters[w.id] = w
		ls.fronts[w.key]++
		ls.waiting.Add(1)
	}
}

// follow takes a waiter off a listener that is not where its key is any more.
func (ls *listeners) follow(w *waiter) {
	source, err := ls.source(w.key)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if err == nil && w.on != nil && w.on.source != source {
		ls.detachLocked(w)
	}
}

// deaf ends the channel of a waiter, and with it that of others: it is heard at another server than
// the one where the keys are.
func (ls *listeners) deaf(w *waiter) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if w.on != nil {
		w.on.loseLocked(w.channel, errDeaf)
		w.fault = nil // it knows
	}
}

// leave ends the waiter.
func (ls *listeners) leave(w *waiter) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if w.timer != nil {
		w.timer.Stop()
	}
	if ls.waiters[w.id] != w {
		return
	}
	delete(ls.waiters, w.id)
	ls.waiting.Add(-1)
	if ls.fronts[w.key]--; ls.fronts[w.key] == 0 {
		delete(ls.fronts, w.key)
	}
	ls.detachLocked(w)
}

// detachLocked takes a waiter off its listener, which it may be the last one to need.
func (ls *listeners) detachLocked(w *waiter) {
	l := w.on
	if l == nil {
		return
	}
	w.on = nil
	c := l.channels[w.channel]
	delete(c.waiters, w)
	if len(c.waiters) > 0 {
		return
	}
	c.idle = clock.Now()
	if !l.planned {
		l.planned = true
		if !ls.client.schedule.Put(&l.entry, c.idle.Add(linger), 0) {
			l.breakLocked(errClosed)
		}
	}
}

// asks takes note that the waiter is about to ask: what it hears from now on counts.
func (ls *listeners) asks(w *waiter) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	w.wake, w.due = false, clock.Moment{}
}

// waits sets when the waiter is to ask again, if it has not heard of a sooner time meanwhile.
func (ls *listeners) waits(w *waiter, wait time.Duration) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	at := clock.Now()
	if due := at.Add(wait); w.due == (clock.Moment{}) || due.Precedes(w.due) {
		w.due = due
	}
	wait = at.Until(w.due)
	if w.timer == nil {
		w.timer = time.NewTimer(wait)
	} else {
		w.timer.Reset(wait)
	}
}

// hears reports whether the waiter's channel is heard.
func (ls *listeners) hears(w *waiter) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return w.on != nil && w.on.channels[w.channel].heard
}

// news takes what the waiter has heard.
func (ls *listeners) news(w *waiter) (granted *grant, wake, hears bool, fault error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	granted, wake, fault = w.granted, w.wake, w.fault
	w.granted, w.wake, w.fault = nil, false, nil
	return granted, wake, w.on != nil && w.on.channels[w.channel].heard, fault
}

// hear takes in a message that came with a reply.
func (ls *listeners) hear(message string) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.hearLocked(message)
}

// rouse has everybody ask who waits for one of the keys: what they were told may have been lost.
func (ls *listeners) rouse(keys []string) {
	if ls.waiting.Load() == 0 {
		return
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, w := range ls.waiters {
		if slices.ContainsFunc(w.keys, func(key string) bool { return slices.Contains(keys, key) }) {
			w.wake = true
			w.tell()
		}
	}
}

// hearLocked takes in a message: see line.lua. One that makes no sense is nobody's.
func (ls *listeners) hearLocked(message string) {
	f := strings.Split(message, "|")
	if len(f) < 2 {
		return
	}
	w := ls.waiters[f[1]]
	switch {
	case f[0] == "w" && w != nil:
		w.wake = true
		w.tell()
	case f[0] == "h" && len(f) == 3:
		ls.askLocked(w, f[2])
	case f[0] == "g" && len(f) >= 4:
		micros, err := strconv.ParseInt(f[2], 10, 64)
		number, err2 := strconv.ParseInt(f[3], 10, 64)
		if w != nil && err == nil && err2 == nil {
			w.granted = &grant{micros, number}
			w.tell()
		}
		if len(f) == 6 {
			ls.askLocked(ls.waiters[f[4]], f[5])
		}
	}
}

// askLocked has a waiter ask again in so many milliseconds, if it would not have so soon.
func (ls *listeners) askLocked(w *waiter, text string) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if w == nil || err != nil || ms < 0 {
		return
	}
	wait := clock.FromMillis(ms) + leaseOver
	if due := clock.Now().Add(wait); w.due == (clock.Moment{}) || due.Precedes(w.due) {
		w.due = due
		if w.timer != nil {
			w.timer.Reset(wait)
		}
	}
}

// busy reports whether somebody else in this Client waits for a set that begins with the key.
func (ls *listeners) busy(key string, myself *waiter) bool {
	if ls.waiting.Load() == 0 {
		return false
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	others := ls.fronts[key]
	if myself != nil && ls.waiters[myself.id] == myself {
		others--
	}
	return others > 0
}
