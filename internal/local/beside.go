package local

import "github.com/seed-14de3678/redislock/internal/clock"

// add puts a waiter behind all others.
func (l *list) add(w *Waiter) { l.addBehind(w, l.tail) }

// insert puts a waiter behind those that came before it.
func (l *list) insert(w *Waiter) {
	before := l.tail
	for before != nil && w.Arrived.Precedes(before.Arrived) {
		before = before.prev
	}
	l.addBehind(w, before)
}

// addBehind puts a waiter behind another one; nil: before all.
func (l *list) addBehind(w, before *Waiter) {
	if w.prev = before; before == nil {
		l.head, w.next = w, l.head
	} else {
		before.next, w.next = w, before.next
	}
	if w.next == nil {
		l.tail = w
	} else {
		w.next.prev = w
	}
}

func (l *list) remove(w *Waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		l.head = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		l.tail = w.prev
	}
	w.prev, w.next = nil, nil
}

// Crowd reports whether others wait behind a waiter, which is nil if it stands in no line.
func (all *Lines) Crowd(w *Waiter) bool {
	if w == nil {
		return false
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	return w.line.behind.head != nil
}

// Polled reports whether somebody of the Client waits who asks every now and then.
func (all *Lines) Polled() bool { return all.asking.Load() > 0 }

// Find returns the line of a set; nil if there is none.
func (all *Lines) Find(key Key) *Line {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.byKey[key]
}

// standBesideLocked has a waiter that polls join. It reports whether that is to wait.
func (l *Line) standBesideLocked(w *Waiter) (waits bool) {
	w.news = make(chan struct{}, 1)
	l.beside.insert(w)
	l.lines.asking.Add(1)
	if l.isHeldLocked() {
		return true
	}
	w.state, l.askedAt = Asks, clock.Now()
	return false
}

// Rests has a waiter that polls wait after it was refused. The conflict is no older than asked.
func (all *Lines) Rests(w *Waiter, conflict any, asked clock.Moment) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if w.state == Asks {
		w.state, w.line.seen, w.line.seenAt = Behind, conflict, asked
	}
}

// Due returns what a waiter that polls has to do when it has waited since that moment. It asks if nobody else has asked
// meanwhile. Otherwise it goes on waiting, because it would have been refused as well.
func (all *Lines) Due(w *Waiter, since clock.Moment) State {
	all.mu.Lock()
	defer all.mu.Unlock()
	if l := w.line; w.state == Behind && !since.Precedes(l.askedAt) {
		w.state, l.askedAt = Asks, clock.Now()
	}
	return w.state
}
