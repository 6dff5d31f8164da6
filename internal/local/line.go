package local

import "github.com/seed-14de3678/redislock/internal/clock"

// A Key says for which set a line is.
type Key struct {
	First, Rest string
	Write       int // so many keys are to be written
}

// Writes returns how many keys of its set the waiters of a line are to write.
func (l *Line) Writes() int { return l.key.Write }

// atLocked finds a line, or makes it.
func (all *Lines) atLocked(key Key) *Line {
	if l := all.byKey[key]; l != nil {
		return l
	}
	if all.byKey == nil {
		all.byKey = make(map[Key]*Line)
	}
	if len(all.byKey) > 2*all.swept+64 {
		for _, l := range all.byKey {
			l.forgetLocked() // locks that were left to expire do not say so
		}
		all.swept = len(all.byKey)
	}
	l := &Line{lines: all, key: key}
	l.entry.Task = l
	all.byKey[key] = l
	return l
}

// forgetLocked drops a line that nobody needs.
func (l *Line) forgetLocked() {
	if l.first != nil || l.behind.head != nil || l.beside.head != nil || l.apart > 0 || l.isHeldLocked() {
		return
	}
	if l.lines.byKey[l.key] == l {
		delete(l.lines.byKey, l.key)
	}
	l.lines.Schedule.Drop(&l.entry)
}

// isHeldLocked reports whether a lock of the Client holds the set.
func (l *Line) isHeldLocked() bool {
	if _, given := l.holder.(*Waiter); l.holder != nil && !given && !l.hasKeys(l.holder) {
		l.holder = nil
	}
	return l.holder != nil
}

// firstLocked makes a waiter the first that asks, or is carried, from now on.
func (l *Line) firstLocked(w *Waiter, state State) {
	l.first, w.state, l.since = w, state, clock.Now()
	l.lines.Schedule.PutBy(&l.entry, l.since.Add(longestAsk))
}

// unlinkLocked takes a waiter out of its list.
func (l *Line) unlinkLocked(w *Waiter) {
	if w.Polls {
		l.beside.remove(w)
		return
	}
	if l.behind.head == w {
		l.due = clock.Moment{}
	}
	l.behind.remove(w)
}

// moveUpLocked makes the head the first, or has it wait a little longer if a lock of the Client holds the set.
func (l *Line) moveUpLocked() {
	w := l.behind.head
	switch {
	case l.first != nil:
		return
	case w == nil:
		l.forgetLocked()
		return
	}
	at := clock.Now()
	if l.isHeldLocked() && (l.due == (clock.Moment{}) || at.Precedes(l.due)) {
		if l.due == (clock.Moment{}) {
			l.due = at.Add(headStart)
			if w.Until != (clock.Moment{}) {
				l.due = l.due.Earlier(at.Add(at.Until(w.Until) / 2))
			}
		}
		l.lines.Schedule.PutBy(&l.entry, l.due)
		return
	}
	l.unlinkLocked(w)
	l.firstLocked(w, Asks)
	w.notify()
}

// letGoLocked has all who wait ask by themselves.
func (l *Line) letGoLocked() {
	if l.first != nil {
		l.first = nil
		l.apart++
	}
	for w := l.behind.head; w != nil; w = l.behind.head {
		l.unlinkLocked(w)
		w.state = Asks
		l.apart++
		w.notify()
	}
}

// quitLocked takes a waiter out of its line, if it stands there still.
func (w *Waiter) quitLocked() {
	l := w.line
	was := w.state
	w.state = Away
	if w.Polls && was != Away {
		l.lines.asking.Add(-1)
	}
	switch {
	case was == Behind, was == Asks && w.Polls:
		l.unlinkLocked(w)
	case l.first == w:
		l.first = nil
	case was == Asks:
		l.apart--
	case l.holder == any(w):
		l.holder = nil
	}
	l.moveUpLocked()
}

// Run looks whether the first keeps the others back for too long, or the head has waited for long enough.
func (l *Line) Run(at clock.Moment) {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	if w := l.first; w != nil && l.since != (clock.Moment{}) {
		if end := l.since.Add(longestAsk); at.Precedes(end) {
			l.lines.Schedule.PutBy(&l.entry, end)
			return
		}
		w.refuseLocked(true)
		l.letGoLocked()
	}
	l.moveUpLocked()
}

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

// Hasten has all who wait look what there is to do.
func (all *Lines) Hasten() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, l := range all.byKey {
		for _, w := range []*Waiter{l.first, l.behind.head, l.beside.head} {
			for ; w != nil; w = w.next {
				w.notify()
			}
		}
	}
}

// NeedsBlock reports whether the hold that a waiter is to have needs numbers for others as well: they wait behind it. The waiter
// is nil if it stands in no line.
func (all *Lines) NeedsBlock(w *Waiter) bool {
	if w == nil || !w.Blocks {
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

// Due tells a waiter that polls, and has waited since that moment, to ask. It reports false if that is not needed: another one has
// asked meanwhile, and it would have been refused as well.
func (all *Lines) Due(w *Waiter, since clock.Moment) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if w.state != Behind {
		return true // it is told something else
	}
	if since.Precedes(w.line.askedAt) {
		return false
	}
	w.state, w.line.askedAt = Asks, clock.Now()
	w.notify()
	return true
}
