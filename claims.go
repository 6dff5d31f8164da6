package redislock

import (
	"slices"
	"strconv"
	"sync"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// This file is what this process knows of the tokens that callers know: whose keys a clean-up is not to free.

// book has the owners whose tokens callers know. It is that of the process, because the function Obtain makes
// a Client for each lock. It does not ask which server they are on: whoever is wrong about that counts too
// often, or leaves to another what nobody has, and asks for it again.
var book struct {
	sync.Mutex
	owners map[string]*owner
	size   int // of owners after the last sweep
}

// A claim is what one Obtain under way, or one lock, counts on.
type claim struct {
	keys   []string
	lock   *Lock // nil while the Obtain is under way
	client *Client
	since  int64 // see owner.begun
}

// ownerOf finds the owner of a token that callers know. Whoever has it has to end that with done.
func ownerOf(token string) *owner {
	book.Lock()
	defer book.Unlock()
	w := book.owners[token]
	if w == nil {
		w = &owner{name: name{id: newToken()}}
		enterLocked(token, w)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shared = true
	w.users++
	return w
}

// enterLocked enters an owner. Locks that were left to expire waive nothing, so when the owners have doubled
// it looks for those that are of no use any more.
func enterLocked(token string, w *owner) {
	if book.owners == nil {
		book.owners = make(map[string]*owner)
	}
	if len(book.owners) > 2*book.size+64 {
		for token, w := range book.owners {
			if w.isIdle() {
				delete(book.owners, token)
			}
		}
		book.size = len(book.owners)
	}
	book.owners[token] = w
}

// show enters the owner of a token that was made for one lock: from now on callers know it.
func (w *owner) show(token string) *owner {
	book.Lock()
	defer book.Unlock()
	w.mu.Lock()
	w.shared = true
	requests := w.requests
	w.mu.Unlock()
	if other := book.owners[token]; other == nil {
		enterLocked(token, w)
	} else if other != w {
		w = other // somebody has known it before
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range requests {
		if !slices.Contains(w.requests, r) {
			w.requests = append(w.requests, r)
		}
	}
	w.users++
	return w
}

// done ends what ownerOf, show or ownerNow has begun.
func (w *owner) done(token string) {
	w.mu.Lock()
	w.users--
	shared := w.shared
	w.mu.Unlock()
	if shared {
		w.forget(token)
	}
}

// forget drops an owner that is of no use any more.
func (w *owner) forget(token string) {
	book.Lock()
	defer book.Unlock()
	if book.owners[token] == w && w.isIdle() {
		delete(book.owners, token)
	}
}

// isIdle reports whether nothing would be known less without the owner. What was not answered is forgotten
// when a guard against it would have ended, too.
func (w *owner) isIdle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := clock.Now()
	w.tidyLocked()
	w.claims = slices.DeleteFunc(w.claims, func(c *claim) bool { return c.lock != nil && c.lock.gone(at) })
	return w.users == 0 && len(w.requests) == 0 && len(w.claims) == 0 && !at.Precedes(w.guarded)
}

// begin counts an operation that begins.
func (w *owner) begin() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun++
	return w.begun
}

// stake enters a claim.
func (w *owner) stake(client *Client, keys []string, lock *Lock) *claim {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun++
	mine := &claim{keys: keys, lock: lock, client: client, since: w.begun}
	w.claims = append(w.claims, mine)
	return mine
}

// claimed passes the claim of an Obtain on to the lock that came of it, unless that has ended already.
func (l *Lock) claimed(mine *claim) {
	l.owner.mu.Lock()
	mine.lock = l
	l.owner.mu.Unlock()
	l.mu.Lock()
	ended := l.state != held
	if !ended {
		l.claim = mine
	}
	l.mu.Unlock()
	if ended {
		l.owner.waive(mine)
	}
}

// reduce gives some keys of a claim up.
func (w *owner) reduce(mine *claim, keys []string) {
	if mine == nil || len(keys) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	mine.keys = without(mine.keys, keys)
}

// waive gives a claim up.
func (w *owner) waive(mine *claim) {
	if mine == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.claims = slices.DeleteFunc(w.claims, func(other *claim) bool { return other == mine })
}

// yieldLocked has a call that is about to be sent leave alone what others count on since its operation has
// begun.
func (w *owner) yieldLocked(c *call) {
	c.spared = nil
	spared := make(map[string]bool)
	for _, other := range w.youngerLocked(c) {
		switch {
		case c.frees:
			c.spare(other, spared)
		case c.yield != nil:
			c.yield()
		}
	}
}

// youngerLocked returns the claims on some of the keys of a call that were staked since its operation has begun.
// What goes through another Redis client may be about another server, and concerns clean-ups alone, which have
// no beginning.
func (w *owner) youngerLocked(c *call) (younger []*claim) {
	at := clock.Now()
	for _, other := range w.claims {
		switch {
		case other.since <= c.since, other.lock != nil && other.lock.gone(at), !haveCommon(other.keys, c.Keys):
		case c.since == 0, other.client.conn.SharesRedis(c.by):
			younger = append(younger, other)
		}
	}
	return younger
}

// yields reports whether others count on some of the keys of a call since its operation has begun.
func (w *owner) yields(c *call) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.youngerLocked(c)) > 0
}

// spare has a release not free what a claim counts on, beside what is spared already.
func (c *call) spare(other *claim, spared map[string]bool) {
	counted := make(map[string]bool, len(other.keys))
	for _, key := range other.keys {
		counted[key] = true
	}
	mark := ""
	if c.marked[other.client] {
		mark = "|" + c.mark
	}
	for i, key := range c.Keys {
		if index := strconv.Itoa(i+1) + mark; counted[key] && !spared[index] {
			spared[index] = true
			c.spared = append(c.spared, index)
		}
	}
}

// without returns those of the keys that are not among the others.
func without(keys, others []string) []string {
	gone := make(map[string]bool, len(others))
	for _, key := range others {
		gone[key] = true
	}
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return gone[key] })
}
