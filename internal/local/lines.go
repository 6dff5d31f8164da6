// Package local has the Obtains of one Client that wait for the same set: a line in this process, in front of the line in
// Redis. The first of it alone asks Redis. The others stand behind it in the order in which they came, and cost a place in
// a list. A Release of this Client can give its keys to the first, if that has not asked yet.
//
// Those that do not stand in line but ask every now and then stand beside that line. They ask in place of one another, and a
// Release gives to them if nobody else waits.
package local

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/proto"
)

const (
	// headStart is for how long the first does not ask while a lock of the Client holds the set: its Release may give it the
	// keys, which takes one command in place of two.
	headStart = 25 * time.Millisecond
	// longestAsk is how long a request of the first may be under way until those behind it ask by themselves.
	longestAsk = 100 * time.Millisecond
)

// Lines are the lines of one Client. They are safe for concurrent use.
type Lines struct {
	Schedule *clock.Schedule

	mu     sync.Mutex
	byKey  map[Key]*Line
	swept  int          // how many were left by the latest sweep
	asking atomic.Int64 // waiters that ask every now and then
}

// A Line has the waiters for one set.
type Line struct {
	lines *Lines
	key   Key
	entry clock.Entry
	// holder is who has the set, as far as the Client knows: a lock, or a waiter that was given it; nil: nobody.
	holder  any
	hasKeys func(lock any) bool // reports whether a lock may have its keys; the mutex is held meanwhile
	until   clock.Moment        // when the hold is not passed on any more; zero: it is not
	alike   any                 // to waiters of which kind it is

	// first asks by itself, or is carried by a Release, and keeps the others back; nil: nobody does.
	first *Waiter
	// since says from when on it does not hear Redis: a request is under way. Zero: it stands in Redis and hears.
	since  clock.Moment
	behind list         // those behind it
	apart  int          // how many that stood here ask by themselves, and keep nobody back
	due    clock.Moment // when the head becomes the first although the set is held here
	seen   any          // the conflict that the latest answer has named
	seenAt clock.Moment

	beside  list         // those that ask every now and then
	askedAt clock.Moment // when one of them has asked last
}

// A Waiter is one Obtain that waits. The mutex of the Lines guards what is not said otherwise.
type Waiter struct {
	Next    proto.Next   // what a Release has to know of it
	Arrived clock.Moment // set before it joins
	Alike   any          // equal for waiters of which one can have the hold of another
	Until   clock.Moment // when its own time is over; zero: it has no end
	Blocks  bool         // a hold that it is given may be passed on, and needs a number for each
	Polls   bool         // it asks every now and then, and does not stand in line

	state      State
	doubtful   bool          // a request that has carried it may still be executed
	news       chan struct{} // full if its state has changed; nil unless it stands behind others
	lines      *Lines        // set when it joins
	line       *Line
	prev, next *Waiter
	grant      Grant
	after      <-chan struct{} // see Choose
}

// A list has waiters in the order in which they came.
type list struct{ head, tail *Waiter }

// A State is what a waiter has to do.
type State uint8

const (
	// Away says that it stands in no line.
	Away State = iota
	// Behind says that it waits.
	Behind
	// Carried says that a Release that is under way may give it the keys.
	Carried
	// Given says that it was given the keys.
	Given
	// Asks says that it asks Redis.
	Asks
)

// A Grant is how a waiter came by its keys.
type Grant struct {
	Sent    clock.Moment  // a moment before they were given
	Numbers proto.Numbers // the fencing numbers given with them
	Hold    any           // that was passed on; nil: a Release has given the keys
}

// C returns a channel that has something if the state of a waiter behind others has changed.
func (w *Waiter) C() <-chan struct{} { return w.news }

func (w *Waiter) notify() {
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// Join has a waiter come last. It reports whether it is to wait: otherwise it asks, and is the first unless it polls. One
// that polls waits if a lock of the Client has the set.
func (all *Lines) Join(w *Waiter, key Key) (waits bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	l := all.atLocked(key)
	w.lines, w.line, w.state = all, l, Behind
	if w.Polls {
		return l.standBesideLocked(w)
	}
	if l.first == nil && l.behind.head == nil && !l.isHeldLocked() {
		l.firstLocked(w, Asks)
		return false
	}
	w.news = make(chan struct{}, 1)
	l.behind.add(w)
	l.moveUpLocked()
	return true
}

// State returns what a waiter has to do. doubtful says, once, that a request may still give it the keys.
func (all *Lines) State(w *Waiter) (state State, doubtful bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	doubtful, w.doubtful = w.doubtful, false
	return w.state, doubtful
}

// Grant returns how a waiter that was given its keys came by them. If after is not nil, the lock before it has not ended
// for the hooks before that is closed.
func (w *Waiter) Grant() (g Grant, after <-chan struct{}) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	return w.grant, w.after
}

// Asking notes that the first sends a request, or does not hear Redis. As with Stands and LetGo, the waiter is nil if it
// stands in no line.
func (all *Lines) Asking(w *Waiter) {
	if w == nil {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	w.grant = Grant{} // it has given back what it may have had
	if l := w.line; l.first == w {
		l.firstLocked(w, Asks)
	}
}

// Stands notes that a waiter stands in Redis and hears it, and what was in its way. That is no older than asked. If nobody
// waits, and nobody keeps others back, it does so from now on.
func (all *Lines) Stands(w *Waiter, conflict any, asked clock.Moment) {
	if w == nil {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if w.state != Asks {
		return
	}
	l := all.atLocked(w.line.key)
	if w.line = l; l.first == nil && l.behind.head == nil {
		l.apart--
		l.first = w
	}
	if l.first == w {
		l.since, l.seen, l.seenAt = clock.Moment{}, conflict, asked
	}
}

// LetGo has all who wait behind the first ask by themselves: it pauses, or Redis cannot be heard.
func (all *Lines) LetGo(w *Waiter) {
	if w == nil {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if l := w.line; l.first == w {
		l.letGoLocked()
	}
}

// Quit has a waiter leave its line. It returns what the waiter was to do.
func (all *Lines) Quit(w *Waiter) State {
	all.mu.Lock()
	defer all.mu.Unlock()
	was := w.state
	if w.line != nil {
		w.quitLocked()
	}
	return was
}

// Holds has a waiter leave its line with the lock that it has obtained. If until is not zero the hold may be passed on until
// then; what was passed on already keeps its time. It returns the line, which the lock has to leave by Ends.
func (all *Lines) Holds(w *Waiter, lock any, hasKeys func(lock any) bool, until clock.Moment) *Line {
	all.mu.Lock()
	defer all.mu.Unlock()
	l := all.atLocked(w.line.key) // it may have been forgotten meanwhile
	l.holder, l.hasKeys, w.line = lock, hasKeys, l
	if w.grant.Hold == nil {
		l.until, l.alike = until, w.Alike
	}
	w.quitLocked()
	return l
}

// Touch notes that the hold of a lock is not passed on any more. The line may be nil.
func (l *Line) Touch(lock any) {
	if l == nil {
		return
	}
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	if l.holder == lock {
		l.until = clock.Moment{}
	}
}

// Ends notes that a lock does not hold the set of a line any more. The line may be nil.
func (l *Line) Ends(lock any) {
	if l == nil {
		return
	}
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	if l.holder == lock {
		l.holder = nil
		l.moveUpLocked()
	}
}

// Blocker returns who has the set, as far as the Client knows; else the latest conflict of a first, if it is not older
// than that.
func (w *Waiter) Blocker(since clock.Moment) (holder, conflict any) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	l := w.line
	if l.isHeldLocked() {
		return l.holder, nil
	}
	if l.seenAt.Precedes(since) || l.seenAt == (clock.Moment{}) {
		return nil, nil
	}
	return nil, l.seen
}

// Choose returns the waiter to whom the Release of a lock, which is about to be sent, may give its keys; nil if there is
// none. It is one that has never asked or, if nobody stands in line, one that polls and has no request under way. From then
// on it waits for Give or Refuse. If after is not nil, its lock begins for the hooks when that is closed.
func (l *Line) Choose(lock any, after <-chan struct{}) *Waiter {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	w := l.behind.head
	switch {
	case l.first != nil || l.apart > 0 || w != nil && l.holder != lock:
		return nil
	case w != nil:
		w.Next.Age = clock.Now().Mono - w.Arrived.Mono
	default: // its age stays 0: it comes behind all who stand in Redis
		w = l.beside.head
		for w != nil && w.state != Behind {
			w = w.next
		}
		if w == nil {
			return nil
		}
	}
	l.unlinkLocked(w)
	l.firstLocked(w, Carried)
	w.after, w.Next.Block = after, w.Blocks && l.behind.head != nil
	return w
}

// Pass passes the hold of a lock on to the first that has never asked, if it may and that asks for the same, and reports
// whether it has. It is passed by nobody who came before. after is as for Choose. The line may be nil.
func (l *Line) Pass(lock, hold any, after <-chan struct{}) bool {
	if l == nil {
		return false
	}
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	w := l.behind.head
	if l.first != nil || w == nil || l.apart > 0 || l.holder != lock || w.Alike != l.alike || !clock.Now().Precedes(l.until) {
		return false
	}
	l.unlinkLocked(w)
	w.after = after
	w.givenLocked(Grant{Hold: hold})
	return true
}

// Give ends a request that has carried a waiter: it was given the keys.
func (w *Waiter) Give(g Grant) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	if w.state != Carried {
		return // it has not waited for that
	}
	w.givenLocked(g)
}

func (w *Waiter) givenLocked(g Grant) {
	w.state, w.grant = Given, g
	w.line.first, w.line.holder = nil, w
	w.notify()
	w.line.moveUpLocked()
}

// Refuse ends a request that has carried a waiter and has not given it the keys, as far as is known. Now it asks. doubtful
// says that the request may still be executed.
func (w *Waiter) Refuse(doubtful bool) {
	w.lines.mu.Lock()
	defer w.lines.mu.Unlock()
	w.refuseLocked(doubtful)
}

func (w *Waiter) refuseLocked(doubtful bool) {
	if w.state != Carried {
		return
	}
	w.doubtful = doubtful
	if l := w.line; w.Polls {
		l.first, w.state = nil, Asks
		l.beside.insert(w)
		l.moveUpLocked()
	} else {
		l.firstLocked(w, Asks)
	}
	w.notify()
}
