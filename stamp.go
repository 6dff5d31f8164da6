package redislock

import (
	"slices"
	"strconv"
)

// This file is what a call carries for its owner: the stamp of the next try, and what came of the latest one.

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
