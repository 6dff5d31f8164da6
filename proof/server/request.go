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

func (c call) text(n int) string     { text, _ := c.arg(n); return text }
func (c call) number(n int) int64    { return number(c.text(n)) }
func (c call) isSet(n int) bool      { return c.text(n) == "1" }
func (c call) value(n int) Value     { return Value(c.text(n)) }
func (c call) letters(n int) letters { return letters(c.text(n)) }

// Letters say what a script may do.
type letters string

func (l letters) closes() bool   { return strings.Contains(string(l), "1") } // it has guards to set
func (l letters) keeps() bool    { return strings.Contains(string(l), "k") } // read keys that its token writes stay what they are
func (l letters) searches() bool { return strings.Contains(string(l), "s") } // a reader is found under any value of its token
func (l letters) all() bool      { return strings.Contains(string(l), "a") } // a refusal names all keys that are in the way

// stamp reads a stamp, of a call whose home line stands `step` times the size of its set, and one, in KEYS. It returns that size, too:
// n if there is no stamp.
func (c call) stamp(text string, v Value, n, step int) (s Stamp, size int) {
	s.Owner, size = v.Token(), n
	if text != "" {
		f := strings.Split(strings.TrimSuffix(text, "|"), "|")
		size, _ = strconv.Atoi(f[0])
		s.Owner, s.Number = f[1], number(f[2])
		for f = f[3:]; len(f) > 2; f = f[3:] {
			s.Closes = append(s.Closes, Closing{f[0], number(f[1]), c.key(int(number(f[2])))})
		}
	}
	s.Home = c.key(step*size + 1)
	return s, size
}

// set are n keys, the lines behind them, and the fences behind those.
func (c call) set(n int, lines, fences bool) []Spot {
	set := make([]Spot, n)
	for i := range set {
		at := i + 1
		set[i].Key = c.key(at)
		if lines {
			at += n
			set[i].Line = c.key(at)
		}
		if fences {
			set[i].Fence = c.key(at + n)
		}
	}
	return set
}

// An Obtaining asks for a set.
type Obtaining struct {
	Set      []Spot
	Writes   int // how many of its keys it wants to write: the first
	Value    Value
	TTL      int64 // ms, as all that follows
	Stamp    Stamp
	Letters  letters
	Fenced   bool
	Declares bool  // intents
	Intent   int64 // for how long; 0: it will not ask again
	Uptime   int64 // for how long the server has to have been up
	Line     *Waiter
}

// A Waiter is one that stands in line if it has to.
type Waiter struct {
	ID      string
	Place   string // empty: none yet; "?": not known
	Life    int64  // for how long it counts as alive, ms
	Sharded bool
	Channel string
}

func (c call) obtain() (o Obtaining) {
	o.Value, o.TTL, o.Letters = c.value(1), c.number(2), c.letters(4)
	_, o.Declares = c.arg(5)
	o.Intent = c.number(5)
	n := len(c.keys) / 2
	if o.Declares {
		n = len(c.keys) / 3
	}
	o.Stamp, n = c.stamp(c.text(3), o.Value, n, 1)
	o.Set, o.Writes = c.set(n, true, false), n
	for i := range o.Set {
		if o.Declares {
			o.Set[i].Intent = c.key(2*n + i + 1)
		}
	}
	return o
}

func (c call) rw() (o Obtaining) {
	o.Value, o.TTL, o.Letters = c.value(1), c.number(2), c.letters(4)
	o.Writes = int(c.number(5))
	reads := int(c.number(6))
	n := o.Writes + reads
	o.Declares, o.Intent = c.text(7) != "", c.number(7)
	o.Fenced, o.Uptime = c.isSet(8), c.number(9)
	o.Stamp, n = c.stamp(c.text(3), o.Value, n, 1)
	o.Set = c.set(n, true, o.Fenced)
	if id, waits := c.arg(10); waits {
		o.Line = &Waiter{id, c.text(11), c.number(12), c.text(13) == "s", c.text(14)}
		return o
	}
	behind := 2 * n
	if o.Fenced {
		behind = 3 * n
	}
	for i := range o.Set {
		switch {
		case i >= o.Writes:
			o.Set[i].Intent = c.key(behind + i - o.Writes + 1)
		case o.Declares:
			o.Set[i].Intent = c.key(behind + reads + i + 1)
		}
	}
	return o
}

// A Releasing frees a set, or leaves it.
type Releasing struct {
	Set       []Spot
	Value     Value
	Stamp     Stamp
	Letters   letters
	HasCaller bool
	Caller    string // its channel
	Fenced    bool
	ID, Place string           // of a waiter that gives up; "?": its place is not known
	Keep      int64            // for how long the keys are left taken, ms; 0: they are freed
	Spares    bool             // it has a list of keys that are not to be freed
	Spared    map[int][]string // by key, from 0: where a guard of this id stands in the home line; empty: anyway
}

func (c call) release() (q Releasing) {
	q.Value, q.Letters = c.value(1), c.letters(3)
	q.Caller, q.HasCaller = c.arg(4)
	q.Fenced = c.isSet(5)
	n := len(c.keys) / 2
	if q.Fenced {
		n = len(c.keys) / 3
	}
	q.Stamp, n = c.stamp(c.text(2), q.Value, n, 1)
	q.Set = c.set(n, true, q.Fenced)
	q.ID, q.Place, q.Keep = c.text(6), c.text(7), c.number(8)
	_, q.Spares = c.arg(9)
	q.Spared = map[int][]string{}
	for _, text := range c.args[min(8, len(c.args)):] {
		index, mark, _ := strings.Cut(text, "|")
		i := int(number(index)) - 1
		q.Spared[i] = append(q.Spared[i], mark)
	}
	return q
}

// A Leasing gives a held set another lease, and perhaps other modes.
type Leasing struct {
	Set      []Spot
	Writes   int // of a conversion: how many of its keys are to be written
	Value    Value
	TTL      int64 // ms
	Stamp    Stamp
	Guarded  bool // it asks for the guard of its owner
	Letters  letters
	Keeps    bool // a longer lease stays as it is
	Fenced   bool
	HandOver bool // it has its lines
	Number   int64
}

func (c call) refresh() (q Leasing) {
	q.Value, q.TTL, q.Letters, q.Keeps = c.value(1), c.number(2), c.letters(4), c.isSet(5)
	n := len(c.keys)
	if !q.Keeps {
		n /= 2
	}
	q.Guarded = c.text(3) != "" || !q.Keeps
	q.HandOver = !q.Keeps
	q.Stamp, n = c.stamp(c.text(3), q.Value, n, 1)
	q.Set = c.set(n, q.HandOver, false)
	return q
}

func (c call) convert() (q Leasing) {
	q.Value, q.TTL, q.Letters = c.value(1), c.number(2), c.letters(4)
	q.Writes, q.Fenced, q.Keeps = int(c.number(5)), c.isSet(6), c.isSet(7)
	n := len(c.keys) / 2
	if q.Fenced {
		n = len(c.keys) / 3
	}
	q.Stamp, n = c.stamp(c.text(3), q.Value, n, 1)
	q.Set = c.set(n, true, q.Fenced)
	return q
}

func (c call) raise() (q Leasing) {
	q.Value, q.TTL, q.Letters, q.Number = c.value(1), c.number(2), c.letters(4), c.number(5)
	q.Guarded, q.Fenced = c.text(3) != "", true
	n := len(c.keys) / 2
	q.Stamp, n = c.stamp(c.text(3), q.Value, n, 2)
	q.Set = c.set(n, false, true)
	return q
}

func (c call) pttl() Leasing {
	return Leasing{Value: c.value(1), Letters: c.letters(2), Set: c.set(len(c.keys), false, false)}
}

// A Breaking takes keys from whoever holds them.
type Breaking struct {
	Set     []Spot
	Stamp   Stamp
	Channel string // of those who listen for what is broken
	Text    string // what they are told
}

func (c call) breaking() (q Breaking) {
	q.Channel, q.Text = c.text(4), c.text(5)
	n := len(c.keys) / 3
	q.Stamp, n = c.stamp(c.text(2), c.value(1), n, 1)
	q.Set = c.set(n, true, true)
	return q
}

// A Plain is one of a bundle: a set to take, or to release, as far as that is plain.
type Plain struct {
	Set   []Spot
	Value Value
	TTL   int64 // ms; 0: it releases
}

func (c call) batch() (all []Plain) {
	half, last := len(c.keys)/2, 0
	for a := 1; a <= len(c.args); a += 3 {
		p := Plain{Value: c.value(a + 1), TTL: c.number(a + 2)}
		for range c.number(a) {
			last++
			p.Set = append(p.Set, Spot{Key: c.key(last), Line: c.key(half + last)})
		}
		all = append(all, p)
	}
	return all
}

// A Round asks for waiters that have heard nothing.
type Round struct {
	Set     []Spot
	Life    int64 // for how long they count as alive from now on, ms
	Waiters []Asked
}

// An Asked is one of them.
type Asked struct {
	ID    string
	Place float64
	Keys  []int // from 0
}

func (c call) again() (q Round) {
	q.Life, q.Set = c.number(1), c.set(len(c.keys)/2, true, false)
	for a := 2; a <= len(c.args); {
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
