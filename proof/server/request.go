package server

import (
	"strconv"
	"strings"
)

// This file is how a call looks to a script: its KEYS and ARGV. Each script has a type of what it is asked for.

// A call is a script with its KEYS and ARGV.
type call struct {
	script string
	keys   []string
	args   []string
}

// key is KEYS[n], empty if it is absent.
func (c call) key(n int) string {
	if n < 1 || n > len(c.keys) {
		return ""
	}
	return c.keys[n-1]
}

// arg is ARGV[n], and whether it is there.
func (c call) arg(n int) (string, bool) {
	if n < 1 || n > len(c.args) {
		return "", false
	}
	return c.args[n-1], true
}

func (c call) text(n int) string  { text, _ := c.arg(n); return text }
func (c call) number(n int) int64 { return number(c.text(n)) }

// Letters say what a script may do.
type letters string

func (l letters) has(letter string) bool { return strings.Contains(string(l), letter) }
func (l letters) closes() bool           { return l.has("c") } // it has guards to set
func (l letters) fenced() bool           { return l.has("f") }
func (l letters) keeps() bool            { return l.has("k") } // read keys that its token writes stay what they are
func (l letters) searches() bool         { return l.has("s") } // a reader is found under any value of its token
func (l letters) all() bool              { return l.has("a") } // a refusal names all keys that are in the way
func (l letters) lengthens() bool        { return l.has("n") } // no lease is shortened

// A Head is what every script is given first.
type Head struct {
	Value   Value
	TTL     int64 // ms; 0: none
	Set     []Spot
	Writes  int // how many of its keys are to be written: the first
	Letters letters
	Stamp   Stamp
	Stamped bool // it has a stamp, and not only the one of its token
	own     int  // where in ARGV what is the script's own begins
	behind  int  // and in KEYS
}

// head reads the head of a call. Unless it is of a script that has none, lines stand behind its keys.
func (c call) head(lines bool) Head {
	h := Head{Value: Value(c.text(1)), TTL: c.number(2), own: 5}
	n := 1
	switch f := strings.Split(c.text(3), "|"); {
	case len(f) == 3:
		n, _ = strconv.Atoi(f[0])
		h.Writes, _ = strconv.Atoi(f[1])
		h.Letters = letters(f[2])
	case f[0] != "":
		n, _ = strconv.Atoi(f[0])
		h.Writes = n
	default:
		h.Writes = n
	}
	lines = lines && !h.Letters.lengthens() || lines && c.script == "convert"
	h.Set, h.behind = make([]Spot, n), n
	for i := range h.Set {
		h.Set[i].Key = c.key(i + 1)
		if lines {
			h.Set[i].Line = c.key(n + i + 1)
		}
		if h.Letters.fenced() {
			h.Set[i].Fence = c.key(2*n + i + 1)
		}
	}
	if lines {
		h.behind += n
	}
	if h.Letters.fenced() {
		h.behind += n
	}
	h.Stamp.Owner, h.Stamp.Home = h.Value.Token(), c.key(n+1)
	if text := c.text(4); text != "" {
		f := strings.Split(strings.TrimSuffix(text, "|"), "|")
		h.Stamped, h.Stamp.Owner, h.Stamp.Number = true, f[0], number(f[1])
		for f = f[2:]; len(f) > 2; f = f[3:] {
			h.Stamp.Closes = append(h.Stamp.Closes, Closing{f[0], number(f[1]), c.key(int(number(f[2])))})
		}
	}
	return h
}

// An Obtaining asks for a set.
type Obtaining struct {
	Head
	Fenced   bool
	Declares bool  // intents
	Intent   int64 // for how long; 0: it will not ask again
	Uptime   int64 // for how long the server has to have been up, ms
	Line     *Waiter
}

// A Waiter is one that stands in line if it has to.
type Waiter struct {
	ID      string
	Place   string // empty: none yet; "?": not known
	Sharded bool
	Channel string
}

func (c call) obtain() (o Obtaining) {
	o.Head = c.head(true)
	o.Declares, o.Intent = c.text(5) != "", c.number(5)
	for i := range o.Set {
		if o.Declares {
			o.Set[i].Intent = c.key(o.behind + i + 1)
		}
	}
	return o
}

func (c call) rw() (o Obtaining) {
	o.Head = c.head(true)
	o.Fenced, o.Uptime = o.Letters.fenced(), c.number(8)
	if id := c.text(5); id != "" {
		e := entryOf(Member{Text: id + "|0|" + c.text(7)})
		o.Line = &Waiter{id, c.text(6), e.Sharded, e.Channel}
		return o
	}
	o.Declares, o.Intent = c.text(6) != "", c.number(6)
	reads := len(o.Set) - o.Writes
	for i := range o.Set {
		switch {
		case i >= o.Writes:
			o.Set[i].Intent = c.key(o.behind + i - o.Writes + 1)
		case o.Declares:
			o.Set[i].Intent = c.key(o.behind + reads + i + 1)
		}
	}
	return o
}

// A Releasing frees a set, or with a ttl leaves it for so long.
type Releasing struct {
	Head
	HasCaller bool
	Caller    string // its channel
	Fenced    bool
	ID, Place string           // of a waiter that gives up; "?": its place is not known
	Spares    bool             // it has a list of keys that are not to be freed
	Spared    map[int][]string // by key, from 0: where a guard of this id stands in the home line; empty: anyway
}

func (c call) release() (q Releasing) {
	q.Head = c.head(true)
	q.Caller, q.HasCaller = c.arg(5)
	q.Fenced = q.Letters.fenced()
	q.ID, q.Place = c.text(6), c.text(7)
	_, q.Spares = c.arg(8)
	q.Spared = map[int][]string{}
	for _, text := range c.args[min(7, len(c.args)):] {
		index, mark, _ := strings.Cut(text, "|")
		i := int(number(index)) - 1
		q.Spared[i] = append(q.Spared[i], mark)
	}
	return q
}

// A Leasing gives a held set another lease, and perhaps other modes.
type Leasing struct {
	Head
	Guarded  bool // it asks for the guard of its owner
	Keeps    bool // a longer lease stays as it is
	Fenced   bool
	HandOver bool // it has its lines
	Number   int64
}

func (c call) refresh() (q Leasing) {
	q.Head = c.head(true)
	q.Keeps = q.Letters.lengthens()
	q.Guarded, q.HandOver = q.Stamped || !q.Keeps, !q.Keeps
	return q
}

func (c call) convert() (q Leasing) {
	q.Head = c.head(true)
	q.Fenced, q.Keeps = q.Letters.fenced(), q.Letters.lengthens()
	return q
}

func (c call) raise() (q Leasing) {
	q.Head = c.head(true)
	q.Guarded, q.Fenced, q.Number = q.Stamped, true, c.number(5)
	return q
}

func (c call) pttl() Leasing { return Leasing{Head: c.head(false)} }

// A Breaking takes keys from whoever holds them.
type Breaking struct {
	Head
	Channel string // of those who listen for what is broken
	Text    string // what they are told
}

func (c call) breaking() Breaking { return Breaking{c.head(true), c.text(5), c.text(6)} }

// A Plain is one of a bundle: a set to take, or to release, as far as that is plain.
type Plain struct {
	Set   []Spot
	Value Value
	TTL   int64 // ms; 0: it releases
}

func (c call) batch() (all []Plain) {
	half, last := len(c.keys)/2, 0
	for a := 1; a <= len(c.args); a += 3 {
		p := Plain{Value: Value(c.text(a)), TTL: c.number(a + 1)}
		for range c.number(a + 2) {
			last++
			p.Set = append(p.Set, Spot{Key: c.key(last), Line: c.key(half + last)})
		}
		all = append(all, p)
	}
	return all
}

// A Round asks for waiters that have heard nothing.
type Round struct {
	Head
	Waiters []Asked
}

// An Asked is one of them.
type Asked struct {
	ID    string
	Place float64
	Keys  []int // from 0
}

func (c call) again() (q Round) {
	q.Head = c.head(true)
	for a := q.own; a <= len(c.args); {
		place, _ := parse(c.text(a + 1))
		w := Asked{ID: c.text(a), Place: place}
		n := int(c.number(a + 2))
		for k := range n {
			w.Keys = append(w.Keys, int(c.number(a+3+k))-1)
		}
		q.Waiters = append(q.Waiters, w)
		a += 3 + n
	}
	return q
}

func (c call) inspect() Spot {
	return Spot{Key: c.key(1), Line: c.key(2), Intent: c.key(3), Fence: c.key(4)}
}
