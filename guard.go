package redislock

import (
	"slices"
	"strconv"
	"sync"
	"time"
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
	asks      effect = iota // nothing
	lengthens               // it makes nothing less, and so is never late
	takes                   // it is an Obtain
	weakens                 // it may free keys, shorten leases or change modes
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
	guarded  moment // until then a guard may stand

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
	weakens bool
	flies   bool // it is under way, and its caller waits for it
	open    bool // it was not answered, or its caller has gone
	closed  bool // a later one was answered that has closed it, and came by the same Redis client
	sent    moment
	by      *transport
	// others are transports of other Redis clients by which one came that has closed it: if they lead to the
	// same server it is closed, else it matters to nobody there.
	others []*transport
}

// A passage is what a call knows of its owner, and of the latest try.
type passage struct {
	owner  *owner
	effect effect
	since  int64 // when the operation has begun: see owner.begun
	frees  bool  // it spares what others count on since then
	reads  bool  // it is an Obtain of read keys, which may have been write keys of its token
	keeps  bool  // and leaves those what they are, because others count on them
	// yield is called before a try, if it is not nil and others count on some of the keys since then.
	yield func()
	// mark is a guard that clients who have another Redis client have set on their server, as far as they are marked.
	mark   string
	marked map[*Client]bool

	name    name
	stamp   string     // see guard.lua; empty if it has none
	lines   []string   // among its keys only for the stamp
	closes  []*request // what it closes if it is answered
	sets    bool       // the stamp has guards to set
	spared  []any      // indexes of keys that it is not to free
	request *request
	flies   bool
	open    bool // it was answered, but has closed nothing: the user lacks a right
	twice   bool // it was answered, but may have been sent more than once
	// withdrawn: it is not to be sent, and counts as overtaken.
	withdrawn bool
}

// stamp numbers the next try of a call, right before it is sent.
func (w *owner) stamp(c *call) {
	if w == nil || c.effect == asks {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	behind := w.behindLocked(c)
	if slices.ContainsFunc(behind, func(r *request) bool { return r.name == w.name }) {
		w.countLocked()
	}
	c.flies, c.open, c.twice, c.closes = true, false, false, behind
	if c.effect != lengthens {
		w.yieldLocked(c)
	}
	if c.effect == lengthens && len(behind) == 0 {
		c.stamp, c.lines, c.sets = "", nil, false
		return
	}
	c.name = w.name
	if len(behind) > 0 {
		w.guarded = now().add(guardLife)
	}
	c.writeStamp()
	switch {
	case c.effect == lengthens:
	case c.fate.Load() == left:
		w.noteLocked(c).open = true
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
	at := now()
	for _, r := range w.requests {
		if at.reached(r.sent.add(guardLife)) {
			continue // no guard would stand for that long
		}
		undoes := c.effect == takes && r.flies && r.weakens
		if (r.open || undoes) && !r.isClosed(c.transport) && haveCommon(r.keys, c.keys) {
			behind = append(behind, r)
		}
	}
	return behind
}

// isClosed reports whether a request need not be closed any more by one that is sent by this transport.
func (r *request) isClosed(by *transport) bool {
	return r.closed || slices.ContainsFunc(r.others, by.sharesRedis)
}

// noteLocked takes note of the latest try of a call.
func (w *owner) noteLocked(c *call) *request {
	if c.request == nil || c.request.name != c.name {
		c.request = &request{
			name: c.name, keys: c.keys, home: c.home(),
			weakens: c.effect == weakens || c.reads, sent: now(), by: c.transport,
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
	if w == nil || c.effect == asks {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if answered && !c.open && !isOvertaken(c) {
		for _, r := range c.closes {
			if r.by.sharesRedis(c.transport) {
				r.closed = true
			} else {
				r.others = append(r.others, c.transport)
			}
		}
	}
	c.flies, c.closes = false, nil
	if may && c.effect != lengthens {
		w.noteLocked(c).open = true
	}
	if r := c.request; r != nil && r.name == c.name {
		r.flies, r.open = false, may
	}
	w.tidyLocked()
}

// leave takes note that the caller of a call has gone: if it is under way, it may be executed at any time.
func (w *owner) leave(c *call) {
	if w == nil || c.effect == asks || c.effect == lengthens {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.flies {
		r := w.noteLocked(c)
		r.flies, r.open = false, true
	}
}

// tidyLocked drops the requests that need not be reckoned with.
func (w *owner) tidyLocked() {
	w.requests = slices.DeleteFunc(w.requests, func(r *request) bool { return !r.flies && (!r.open || r.closed) })
}

// answers takes in how the latest try has ended, for the owner. An error is no answer of the script, unless
// it shows that it was raised there, or that the script was refused: a proxy may have sent it.
func (c *call) answers() {
	if c.owner == nil {
		return
	}
	reply, is := c.reply.([]any)
	if c.err == nil && is && len(reply) > 1 && reply[len(reply)-1] == "open" {
		c.open = true
		if reply = reply[:len(reply)-1]; len(reply) > 1 {
			c.reply = reply
		} else {
			c.reply = reply[0]
		}
	}
	answered := c.err == nil && isAnswer(c.reply)
	may := !answered
	if c.err != nil {
		may = mayCome(c.err)
	}
	c.owner.settle(c, answered, may || c.twice)
}

// isAnswer reports whether a reply looks like one of the scripts.
func isAnswer(reply any) bool {
	if all, ok := reply.([]any); ok && len(all) > 0 {
		reply = all[0]
	}
	_, ok := reply.(int64)
	return ok
}

// isOvertaken reports whether the call has done nothing, because a later request was executed before it.
func isOvertaken(c *call) bool {
	code, ok := c.reply.(int64)
	return c.err == nil && ok && code == overtaken
}

// home is the line where a call asks for the guard of its owner.
func (c *call) home() string {
	if c.script.lined {
		return c.extra[0]
	}
	return lineOf(c.keys[0])
}

// writeStamp writes the stamp of the next try, if it needs one: see guard.lua.
func (c *call) writeStamp() {
	c.stamp, c.lines, c.sets = "", nil, len(c.closes) > 0
	if c.name == (name{}) && len(c.closes) == 0 && (c.script.lined || c.effect == lengthens) {
		return // a script that has its line at hand knows what that means
	}
	if !c.script.lined {
		c.lines = append(c.lines, c.home())
	}
	token, _ := decodeValue(*c.value)
	b := []byte(strconv.Itoa(len(c.keys)) + "|")
	write := func(n name) {
		if n.id == "" {
			n.id = token
		}
		b = strconv.AppendInt(append(b, n.id+"|"...), n.number, 10)
		b = append(b, '|')
	}
	write(c.name)
	set := make(map[string]bool, len(c.closes))
	for _, closed := range c.closes {
		guard := c.name
		if closed.id != guard.id {
			guard = name{closed.id, lastNumber}
		}
		if at := guard.id + "|" + closed.home; !set[at] {
			set[at] = true
			write(guard)
			b = append(strconv.AppendInt(b, int64(c.placeOf(closed.home)), 10), '|')
		}
	}
	c.stamp = string(b)
}

// placeOf is the place of a line among the KEYS of the script, where it comes to stand if it does not yet.
func (c *call) placeOf(line string) int {
	beside := c.extra
	if !c.script.lined {
		beside = nil
	}
	if i := slices.Index(beside, line); i >= 0 {
		return len(c.keys) + i + 1
	}
	i := slices.Index(c.lines, line)
	if i < 0 {
		i = len(c.lines)
		c.lines = append(c.lines, line)
	}
	return len(c.keys) + len(c.extra) + i + 1
}

// haveCommon reports whether two sets have a key in common.
func haveCommon(a, b []string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 0 || a[0] == b[0] || len(a) < 8 {
		return slices.ContainsFunc(a, func(key string) bool { return slices.Contains(b, key) })
	}
	has := make(map[string]bool, len(b))
	for _, key := range b {
		has[key] = true
	}
	return slices.ContainsFunc(a, func(key string) bool { return has[key] })
}
