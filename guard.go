package redislock

import (
	"slices"
	"strconv"

	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// This file is how a call says whose request it is, and which late requests it closes: the stamp, which
// guard.lua reads. Which number a request has and what it closes is a matter of internal/owners.

// mostOvertaken is how often in a row an operation that was overtaken asks again: others of its token come to an end.
const mostOvertaken = 100

// A stamp is what a call carries for its owner.
type stamp struct {
	lined     bool // behind its lock keys there are as many lines
	keeps     bool // an Obtain of read keys leaves write keys of its token what they are: others count on them
	open      bool // it was answered, but has closed nothing: the user lacks a right
	withdrawn bool // it is not to be sent, and counts as overtaken
	reads     bool // it looks for its token among the readers of keys, under other metadata, too
	fresh     bool // nobody has used its token with other metadata, although callers know it
	all       bool // a refusal is to name all keys that are in the way
	// yield is called before a try, if it is not nil and others count on some of the keys since the operation
	// has begun.
	yield func()
	// mark is the id of a guard that the clients marked have set on their server: see cleanup.mark.
	mark   string
	marked map[owners.Client]bool

	spared []any  // indexes of keys that it is not to free, as release.lua is given them
	args   [2]any // the stamp, and what it lets the script do, as they are sent
}

// ownedBy has the call travel as a request of an owner: whoever has built it has said what it does, and in
// which line it asks for its guard.
func (c *call) ownedBy(w *owners.Owner, by *wire.Conn) {
	c.own.Owner, c.own.By, c.own.Keys, c.own.Caller = w, by, c.Keys, c
	c.Tracker = c
}

// The arguments of a request without a stamp, where others stand behind them, or with letters.
var (
	noStamp        = []any{"", ""}
	searchStamp    = []any{"", letterSearches}
	allStamp       = []any{"", letterAll}
	searchAllStamp = []any{"", letterSearches + letterAll}
)

// The letters that tell a script what it may do.
const (
	letterCloses   = "1" // it has guards to set
	letterKeeps    = "k" // read keys that its token writes stay what they are
	letterSearches = "s" // a reader that is not found under its value is searched for
	letterAll      = "a" // a refusal names all keys that are in the way
)

// Before prepares the next try, right before it is sent.
func (c *call) Before() bool {
	r := &c.own
	if !r.Owner.Send(r) {
		c.Err = wire.ErrNotSent
		return false
	}
	if c.open = false; r.Stamp.Yields && c.yield != nil {
		c.yield()
	}
	if c.withdrawn {
		c.Reply, c.Err = int64(overtaken), nil
		r.Owner.Settle(r, false, false)
		return false
	}
	c.spare(r.Stamp.Spared)
	// Where there is a line, and so where there is a guard, batch.lua does nothing; but it sets none, and
	// spares nothing.
	c.Alone = len(r.Stamp.Closes) > 0 || len(c.spared) > 0
	c.Behind, c.Stamp, c.Rest = nil, nil, sparing(len(c.Args), c.spared)
	switch text := c.text(); {
	case text != "":
		sent := text                        // only a stamp that is sent is worth an allocation
		c.args = [2]any{&sent, c.letters()} // by reference: hooks of the Redis client are not to print it
		c.Stamp = c.args[:]
	case c.all && c.searches():
		c.Stamp = searchAllStamp
	case c.all:
		c.Stamp = allStamp
	case c.searches():
		c.Stamp = searchStamp
	case len(c.Args)+len(c.spared) > 0:
		c.Stamp = noStamp
	}
	return true
}

// letters tell a script what it may do.
func (c *call) letters() (letters string) {
	switch {
	case c.keeps:
		letters = letterKeeps
	case len(c.own.Stamp.Closes) > 0:
		letters = letterCloses
	}
	if c.searches() {
		letters += letterSearches
	}
	if c.all {
		letters += letterAll
	}
	return letters
}

// searches reports whether a request may find its token among readers under another value than its own. It does not if
// only its lock knows the token, or nobody has used it with another value.
func (c *call) searches() bool { return c.reads && c.own.Stamp.Known && !c.fresh }

// spare notes the keys that a release is not to free.
func (c *call) spare(spares []owners.Spare) {
	if c.spared = nil; len(spares) == 0 {
		return
	}
	named := make(map[string]bool, len(spares))
	for _, s := range spares {
		index := strconv.Itoa(s.Index + 1)
		if c.marked[s.By] {
			index += "|" + c.mark
		}
		if !named[index] {
			named[index] = true
			c.spared = append(c.spared, index)
		}
	}
}

// sparedKeys returns the keys that a release was to leave to others of the token, whatever they have marked.
func (c *call) sparedKeys() (keys []string) {
	for _, index := range c.spared {
		if i, err := strconv.Atoi(index.(string)); err == nil {
			keys = append(keys, c.Keys[i-1])
		}
	}
	return keys
}

// After takes in how the latest try has ended. An error is no answer of the script, unless it shows that it
// was raised there, or that the script was refused: a proxy may have sent it.
func (c *call) After(mayCome bool) {
	if c.TakeLast("more") {
		c.goesOn(c.own.By.(*wire.Conn))
	}
	c.open = c.open || c.TakeLast("open")
	answered := c.Err == nil && isAnswer(c.Reply)
	closed := answered && !c.open && !isOvertaken(c)
	c.own.Owner.Settle(&c.own, closed, mayCome || c.Err == nil && !answered)
}

// Left takes note that the caller has gone.
func (c *call) Left() { c.own.Owner.Leave(&c.own) }

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

// text writes the stamp of the next try: see guard.lua. It is empty if the try needs none.
func (c *call) text() string {
	r := &c.own
	name, closes := r.Stamp.Name, r.Stamp.Closes
	if !r.Stamp.Numbered {
		return ""
	}
	if name == (owners.Name{}) && len(closes) == 0 && (c.lined || r.Effect == owners.Lengthens) {
		return "" // a script that has its line at hand knows what that means
	}
	if !c.lined {
		c.Behind = append(c.Behind, r.Home)
	}
	token, _, _ := decodeValue(*c.Value)
	b := []byte(strconv.Itoa(len(c.Keys)) + "|")
	write := func(n owners.Name) {
		if n.ID == "" {
			n.ID = token
		}
		b = strconv.AppendInt(append(b, n.ID+"|"...), n.Number, 10)
		b = append(b, '|')
	}
	write(name)
	set := make(map[string]bool, len(closes))
	for _, closed := range closes {
		guard := name
		if closed.ID != guard.ID {
			guard = owners.Name{ID: closed.ID, Number: owners.LastNumber}
		}
		if at := guard.ID + "|" + closed.Home; !set[at] {
			set[at] = true
			write(guard)
			b = append(strconv.AppendInt(b, int64(c.placeOf(closed.Home)), 10), '|')
		}
	}
	return string(b)
}

// placeOf is the place of a line among the KEYS of the script, where it comes to stand if it does not yet.
func (c *call) placeOf(line string) int {
	if c.lined {
		if i := slices.Index(c.Beside, line); i >= 0 {
			return len(c.Keys) + i + 1
		}
	}
	i := slices.Index(c.Behind, line)
	if i < 0 {
		i = len(c.Behind)
		c.Behind = append(c.Behind, line)
	}
	return len(c.Keys) + len(c.Beside) + i + 1
}
