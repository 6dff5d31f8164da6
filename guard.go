package redislock

import (
	"slices"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// This file is what keeps a request from being executed late: which number each has, and which guards it
// sets. What a guard is in Redis stands in guard.lua.

const (
	// guardLife is how long a guard stands, and a little more.
	guardLife = 5*time.Minute + 10*time.Second
	// lastNumber is greater than the number of every request; a guard may have it.
	lastNumber = 1<<20 - 1
	// overtaken is the code of the reply to a request that came after a later one, and has done nothing.
	overtaken = -3
	// mostOvertaken is how often in a row an operation asks again after that: others of its token come to an end.
	mostOvertaken = 100
)

// guardsOff has no request close another: tests show with it what guards are for.
var guardsOff bool

// An effect is what a request does to what its owner holds.
type effect uint8

const (
	lengthens effect = iota // it makes nothing less, and so is never late
	takes                   // it is an Obtain
	lessens                 // it may free keys, shorten leases or change modes
)

// An owner is whoever holds keys under one token: one lock, or, if callers know the token, everybody in this
// process who uses it. It gives requests their numbers.
//
// The number goes up only when a request is sent behind one that was not answered, and has a key in common
// with it. Then the new one closes the old one: it sets a guard in its home line. From the answer on the old
// one cannot do anything any more. As long as all requests are answered nothing is counted, and there is no
// guard.
type owner struct {
	mu     sync.Mutex
	name   name // of the requests that are sent now
	shared bool // callers know the token
	// requests are those that are to be reckoned with: if the owner is shared, all that are not answered,
	// else those for whose answer nobody waits any more.
	requests []*request
	guarded  clock.Moment // until then a guard may stand

	users int // how many use it, beside claims and requests

	// Of a shared one.
	claims []*claim
	begun  int64 // counts operations, so that it is known which of two has begun later
}

// A name is what a request is known by in Redis: the id of its owner, and its number.
type name struct {
	id     string // empty: the token
	number int64
}

// A request is what an owner knows of one try of a call.
type request struct {
	name
	keys    []string
	home    string // the line where its guard would stand
	lessens bool
	flies   bool // it is under way, and its caller waits for it
	open    bool // it was not answered, or its caller has gone
	closed  bool // a later one was answered that has closed it, and came by the same Redis client
	sent    clock.Moment
	by      *wire.Conn
	// others are connections of other Redis clients by which one came that has closed it: if they lead to the
	// same server it is closed, else it matters to nobody there.
	others []*wire.Conn
}

// stamp numbers the next try of a call, right before it is sent.
func (w *owner) stamp(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	behind := w.behindLocked(c)
	if slices.ContainsFunc(behind, func(r *request) bool { return r.name == w.name }) {
		w.countLocked()
	}
	c.flies, c.open, c.closes = true, false, behind
	if c.effect != lengthens {
		w.yieldLocked(c)
	}
	if c.effect == lengthens && len(behind) == 0 {
		c.stamp, c.lines, c.sets = "", nil, false
		return
	}
	c.name = w.name
	if len(behind) > 0 {
		w.guarded = clock.Now().Add(guardLife)
	}
	c.writeStamp()
	switch {
	case c.effect == lengthens:
	case c.IsLeft():
		w.openLocked(c)
	case w.shared:
		w.noteLocked(c).flies = true
	}
}

// countLocked takes the next number. At the last one it takes another id.
func (w *owner) countLocked() {
	if w.name.number++; w.name.number == lastNumber {
		w.name = name{id: newToken()}
	}
}

// behindLocked returns the requests behind which a call is sent, as far as it has to close them. One that is
// under way has to be if it may undo what an Obtain does.
func (w *owner) behindLocked(c *call) (behind []*request) {
	if guardsOff {
		return nil
	}
	at := clock.Now()
	for _, r := range w.requests {
		if at.Reached(r.sent.Add(guardLife)) {
			continue // no guard would stand for that long
		}
		undoes := c.effect == takes && r.flies && r.lessens
		if (r.open || undoes) && !r.isClosed(c.by) && haveCommon(r.keys, c.Keys) {
			behind = append(behind, r)
		}
	}
	return behind
}

// isClosed reports whether a request need not be closed any more by one that is sent by this connection.
func (r *request) isClosed(by *wire.Conn) bool {
	return r.closed || slices.ContainsFunc(r.others, by.SharesRedis)
}

// noteLocked takes note of the latest try of a call.
func (w *owner) noteLocked(c *call) *request {
	if c.request == nil || c.request.name != c.name {
		c.request = &request{
			name: c.name, keys: c.Keys, home: c.home(),
			lessens: c.effect == lessens || c.reads, sent: clock.Now(), by: c.by,
		}
	}
	if !slices.Contains(w.requests, c.request) {
		w.requests = append(w.requests, c.request)
	}
	return c.request
}

// settle takes in how a try has ended: whether its script has answered, and whether it may be executed later
// all the same.
func (w *owner) settle(c *call, answered, may bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if answered && !c.open && !isOvertaken(c) {
		for _, r := range c.closes {
			if r.by.SharesRedis(c.by) {
				r.closed = true
			} else {
				r.others = append(r.others, c.by)
			}
		}
	}
	c.flies, c.closes = false, nil
	if r := c.request; r != nil && r.name == c.name {
		r.flies, r.open = false, false
	}
	if may && c.effect != lengthens {
		w.openLocked(c)
	}
	w.tidyLocked()
}

// leave takes note that the caller of a call has gone: if it is under way, it may be executed at any time.
func (w *owner) leave(c *call) {
	if c.effect == lengthens {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.flies {
		w.openLocked(c)
	}
}

// openLocked takes note that the latest try of a call may be executed at any time. It stands for those before
// it that were alike: what closes it closes them, too.
func (w *owner) openLocked(c *call) {
	r := w.noteLocked(c)
	r.flies, r.open = false, true
	w.requests = slices.DeleteFunc(w.requests, func(other *request) bool {
		return other != r && other.open && !other.flies && other.id == r.id && other.home == r.home &&
			other.by == r.by && other.lessens == r.lessens && slices.Equal(other.keys, r.keys)
	})
}

// tidyLocked drops the requests that need not be reckoned with any more.
func (w *owner) tidyLocked() {
	at := clock.Now()
	w.requests = slices.DeleteFunc(w.requests, func(r *request) bool {
		return !r.flies && (!r.open || r.closed || at.Reached(r.sent.Add(guardLife)))
	})
}
