package redislock

import (
	"slices"
	"strconv"

	"github.com/seed-14de3678/redislock/internal/wire"
)

// This file is what a call carries for its owner: the stamp of the next try, and what came of the latest one.

// A passage is what a call knows of its owner, and of the latest try.
type passage struct {
	owner  *owner
	by     *wire.Conn
	lined  bool // behind its lock keys there are as many lines
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
	args    [2]any     // the stamp, and what it lets the script do, as they are sent
	lines   []string   // among its keys only for the stamp
	closes  []*request // what it closes if it is answered
	sets    bool       // the stamp has guards to set
	spared  []any      // indexes of keys that it is not to free
	request *request
	flies   bool
	open    bool // it was answered, but has closed nothing: the user lacks a right
	// withdrawn: it is not to be sent, and counts as overtaken.
	withdrawn bool
}

// ownedBy has the call travel as a request of an owner.
func (c *call) ownedBy(w *owner, e effect, by *wire.Conn) {
	c.owner, c.effect, c.by, c.Tracker = w, e, by, c
}

// noStamp are the arguments of a request without a stamp, where others stand behind them.
var noStamp = []any{"", ""}

// releaseArgs is how many arguments release.lua has before the keys that it is not to free.
const releaseArgs = 4

// Before numbers the next try, right before it is sent.
func (c *call) Before() bool {
	c.owner.stamp(c)
	if c.withdrawn {
		c.Reply, c.Err = int64(overtaken), nil
		c.owner.settle(c, false, false)
		return false
	}
	// Where there is a line, and so where there is a guard, batch.lua does nothing; but it sets none, and
	// spares nothing.
	c.Alone = len(c.closes) > 0 || len(c.spared) > 0
	c.Behind, c.Stamp, c.Rest = c.lines, nil, nil
	switch {
	case c.stamp != "":
		stamp := c.stamp // a copy: the next try has another, and a hook may keep the command
		c.args = [2]any{&stamp, c.shortCut()}
		c.Stamp = c.args[:]
	case len(c.Args)+len(c.spared) > 0:
		c.Stamp = noStamp
	}
	if len(c.spared) > 0 {
		for range releaseArgs - len(c.Args) {
			c.Rest = append(c.Rest, "")
		}
		c.Rest = append(c.Rest, c.spared...)
	}
	return true
}

// shortCut tells a script whether it may take one: it may not if it has guards to set, or write keys to keep.
func (c *call) shortCut() string {
	if c.keeps {
		return "k"
	}
	return flag(c.sets)
}

// After takes in how the latest try has ended. An error is no answer of the script, unless it shows that it
// was raised there, or that the script was refused: a proxy may have sent it.
func (c *call) After(mayCome bool) {
	c.open = c.open || c.TakeLast("open")
	answered := c.Err == nil && isAnswer(c.Reply)
	c.owner.settle(c, answered, mayCome || c.Err == nil && !answered)
}

// Left takes note that the caller has gone.
func (c *call) Left() { c.owner.leave(c) }

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
	code, ok := c.Reply.(int64)
	return c.Err == nil && ok && code == overtaken
}

// home is the line where a call asks for the guard of its owner.
func (c *call) home() string {
	if c.lined {
		return c.Beside[0]
	}
	return lineOf(c.Keys[0])
}

// writeStamp writes the stamp of the next try, if it needs one: see guard.lua.
func (c *call) writeStamp() {
	c.stamp, c.lines, c.sets = "", nil, len(c.closes) > 0
	if c.name == (name{}) && len(c.closes) == 0 && (c.lined || c.effect == lengthens) {
		return // a script that has its line at hand knows what that means
	}
	if !c.lined {
		c.lines = append(c.lines, c.home())
	}
	token, _ := decodeValue(*c.Value)
	b := []byte(strconv.Itoa(len(c.Keys)) + "|")
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
	beside := c.Beside
	if !c.lined {
		beside = nil
	}
	if i := slices.Index(beside, line); i >= 0 {
		return len(c.Keys) + i + 1
	}
	i := slices.Index(c.lines, line)
	if i < 0 {
		i = len(c.lines)
		c.lines = append(c.lines, line)
	}
	return len(c.Keys) + len(c.Beside) + i + 1
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
