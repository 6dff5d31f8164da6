package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-14de3678/redislock/internal/proto"
)

// This file is what steps ask for: a thrower has a function for each script.

func (t *thrower) obtain(e *Step) {
	v, set := t.owner(), t.some()
	e.Script, e.Keys = "obtain", beside(slices.Clone(set), set, line)
	declares := t.chance(25)
	if declares {
		e.Keys = beside(e.Keys, set, intent)
	}
	stamp, letter := t.stamp(e, v, len(set))
	e.Args = head(v, t.ttl(), len(set), len(set), letter+t.yes(20, "a"), stamp)
	if declares {
		e.Args = append(e.Args, pick(t.dice, "0", "300", "5000", "90000"))
	}
	e.Args = lean(e.Args)
}

// head is what every script is given first.
func head(v Value, ttl string, n, w int, letters, stamp string) []string {
	shape := fmt.Sprintf("%d|%d|%s", n, w, letters)
	if n == w && letters == "" {
		if shape = fmt.Sprint(n); n == 1 {
			shape = ""
		}
	}
	return []string{string(v), ttl, shape, stamp}
}

// lean leaves out what is empty at the end.
func lean(args []string) []string {
	for len(args) > 1 && args[len(args)-1] == "" {
		args = args[:len(args)-1]
	}
	return args
}

// letters throws the letters of an obtaining.
func (t *thrower) letters(closes string, reads, fenced bool) string {
	if reads {
		closes += t.yes(15, "k") + t.yes(20, "s")
	}
	if fenced {
		closes += "f" + t.block(true)
	}
	return closes + t.yes(15, "a")
}

// block is what says that a fenced hold gets a block of numbers.
func (t *thrower) block(fenced bool) string {
	if fenced && t.blocks != nil && t.blocks.chance(25) {
		return "b"
	}
	return ""
}

// rw asks for a set without a line.
func (t *thrower) rw(e *Step) {
	v, set := t.owner(), t.some()
	n, declares, fenced := len(set), t.chance(25), t.chance(50)
	writeKeys := pick(t.dice, n, t.IntN(n+1), 0)
	e.Script, e.Keys = "rw", beside(slices.Clone(set), set, line)
	if fenced {
		e.Keys = beside(e.Keys, set, fence)
	}
	e.Keys = beside(e.Keys, set[writeKeys:], intent)
	life := ""
	if declares && writeKeys > 0 {
		e.Keys = beside(e.Keys, set[:writeKeys], intent)
		life = pick(t.dice, "0", "300", "5000", "90000")
	}
	stamp, letter := t.stamp(e, v, n)
	e.Args = append(head(v, t.ttl(), n, writeKeys, t.letters(letter, n > writeKeys, fenced), stamp), "", life, "", t.uptime())
	e.Args = lean(e.Args)
}

func (t *thrower) uptime() string { return pick(t.dice, "", "", "", "", "", "", "60000") }

// inLine has somebody stand in line: a new one, or one that stands there and asks again.
func (t *thrower) inLine(e *Step) {
	o := t.obtaining(pick(t.dice, ids...))
	if again, ok := t.waiter(); ok && t.chance(60) {
		o = again
	} else if !t.stands(o.Line.ID) {
		o.Line.Place = pick(t.dice, proto.Place{}, proto.Place{}, proto.Place{}, unknown)
	} else {
		o.Line.Place = unknown
	}
	var set []string
	for _, s := range o.Set {
		set = append(set, s.Key)
	}
	n := len(set)
	e.Script, e.Keys = "rw", beside(slices.Clone(set), set, line)
	if o.Can.Fenced {
		e.Keys = beside(e.Keys, set, fence)
	}
	stamp, letter := t.stamp(e, o.Value, n)
	all := t.letters(letter, n > o.Writes, o.Can.Fenced)
	o.Can.Search = strings.Contains(all, "s")
	_, entry, _ := strings.Cut(o.EntryFor(0, 0).String(), "|0|")
	entry = strings.TrimSuffix(entry, string(o.Value))
	e.Args = append(head(o.Value, decimal(o.TTL), n, o.Writes, all, stamp), o.Line.ID, t.where(o.Line.Place), entry, t.uptime())
	e.Args = lean(e.Args)
}

// unknown is the place of a waiter that may stand in line.
var unknown = proto.Place{}.OrUnknown()

// placed is how a place is written.
func placed(p proto.Place) string {
	switch {
	case p.IsKnown():
		return decimal(p.Number())
	case p.IsPossible():
		return "?"
	}
	return ""
}

// where is a place as a waiter says it: with its age, if it may have none.
func (t *thrower) where(p proto.Place) string {
	if p.IsKnown() {
		return placed(p)
	}
	return placed(p) + decimal(-t.age())
}

// age is for how long somebody has waited, µs.
func (t *thrower) age() int64 {
	if t.later == nil {
		return 0
	}
	return int64(pick(*t.later, 0, 0, 1, 3, 200, 5_000, 400_000, 2_000_000, 40_000_000))
}

func (t *thrower) release(e *Step) {
	v := t.owner()
	set := t.keysOf(v)
	if o, ok := t.waiter(); ok && t.chance(35) { // what somebody waits for
		if text, held := t.space.text(o.Set[0].Key); held && Value(text).Token() != "" && Value(text).IsValid() {
			v, set = Value(text), nil
			for _, s := range o.Set {
				set = append(set, s.Key)
			}
		}
	}
	fenced := t.chance(40)
	e.Script, e.Keys = "release", beside(slices.Clone(set), set, line)
	if t.chance(4) { // intents, by a clean-up, which says that they are their own lines
		set = beside(nil, set, intent)
		e.Keys, e.Args = append(slices.Clone(set), set...), lean(head(v, "", len(set), len(set), "", ""))
		return
	}
	if fenced {
		e.Keys = beside(e.Keys, set, fence)
	}
	stamp, letter := t.stamp(e, v, len(set))
	if fenced {
		letter += "f"
	}
	e.Args = append(head(v, "", len(set), len(set), letter+t.yes(20, "s"), stamp), t.yes(60, pick(t.dice, channels...)), "", "")
	if t.later != nil && t.later.chance(35) {
		next, ttl := t.later.value(pick(*t.later, "n1", "n2", tokens[0])), decimal(pick(*t.later, ttls...))
		e.Args = append(e.Args[:5], ">"+t.block(fenced), decimal(-t.age()), ttl, string(next))
		return
	}
	if waiter, ok := t.waiter(); ok && t.chance(15) {
		e.Args[5], e.Args[6] = waiter.Line.ID, pick(t.dice, placed(waiter.Line.Place), "?")
	}
	if t.chance(25) {
		e.Args[1] = pick(t.dice, "", "2500", "40000")
		for range t.IntN(3) {
			e.Args = append(e.Args, strconv.Itoa(t.between(1, len(set))))
		}
	}
	e.Args = lean(e.Args)
}

func (t *thrower) refresh(e *Step) {
	v := t.owner()
	set := t.keysOf(v)
	if t.chance(10) {
		v += "?"
		v = Value(strings.TrimSuffix(string(v), "?"))
	}
	e.Script, e.Keys = "refresh", slices.Clone(set)
	keeps := t.yes(50, "n")
	stamp, letter := "", ""
	if keeps == "" {
		e.Keys = beside(e.Keys, set, line)
		stamp, letter = t.stamp(e, v, len(set))
	} else if t.chance(50) {
		e.Keys = append(e.Keys, spotOf(set[0]).Line)
		stamp = fmt.Sprintf("%s|%d|", v.Token(), t.IntN(5))
	}
	e.Args = lean(head(v, t.ttl(), len(set), len(set), letter+t.yes(30, "s")+keeps, stamp))
}

func (t *thrower) convert(e *Step) {
	v := t.owner()
	set := t.keysOf(v)
	fenced := t.chance(50)
	e.Script, e.Keys = "convert", beside(slices.Clone(set), set, line)
	if fenced {
		e.Keys = beside(e.Keys, set, fence)
	}
	stamp, letter := t.stamp(e, v, len(set))
	writeKeys := pick(t.dice, 0, len(set), t.IntN(len(set)+1))
	if fenced {
		letter += "f"
	}
	e.Args = lean(head(v, t.ttl(), len(set), writeKeys, letter+t.yes(30, "s")+t.yes(40, "n"), stamp))
}

func (t *thrower) pttl(e *Step) {
	v := t.owner()
	e.Script = "pttl"
	e.Keys = t.keysOf(v)
	e.Args = lean(head(v, "", len(e.Keys), len(e.Keys), t.yes(40, "s"), ""))
}

func (t *thrower) raise(e *Step) {
	v := t.owner()
	set := t.keysOf(v)
	e.Script, e.Keys = "raise", beside(beside(slices.Clone(set), set, line), set, fence)
	stamp, letter := "", "f"
	if t.chance(50) {
		stamp = fmt.Sprintf("%s|%d|", v.Token(), t.IntN(5))
		if t.chance(30) {
			stamp, letter = stamp+fmt.Sprintf("%s|4|%d|", v.Token(), len(set)+1), "fc"
		}
	}
	e.Args = append(head(v, t.ttl(), len(set), len(set), letter+t.yes(30, "s"), stamp), decimal(pick(t.dice, 1, begin-1, begin+9)))
}

func (t *thrower) breakUp(e *Step) {
	set := t.some()
	e.Script, e.Keys = "break", beside(beside(slices.Clone(set), set, line), set, fence)
	v := Value(pick(t.dice, "breaker", "breaker", tokens[3]))
	stamp, letter := t.stamp(e, v, len(set))
	e.Args = append(head(v, "", len(set), len(set), letter+"f", stamp), "notices", "b|why|"+set[0])
}

func (t *thrower) batch(e *Step) {
	e.Script = "batch"
	rest := t.some()
	for k := 0; len(rest) > 0; k++ {
		n := t.between(1, len(rest))
		v, ttl := t.value(pick(t.dice, tokens...)), t.ttl()
		if text, ok := t.space.text(rest[0]); t.chance(50) && ok {
			v, ttl, n = pick(t.dice, Value(text), Value(text), v), "", pick(t.dice, 1, 1, n)
		}
		if ttl == "" {
			e.Keys, e.Args = append(e.Keys, rest[:n]...), append(e.Args, string(v), ttl, fmt.Sprint(n))
		} else { // those that take come first
			e.Keys, e.Args = slices.Concat(rest[:n], e.Keys), slices.Concat([]string{string(v), ttl, fmt.Sprint(n)}, e.Args)
		}
		rest = rest[n:]
	}
	e.Keys = beside(e.Keys, slices.Clone(e.Keys), line)
}

func (t *thrower) again(e *Step) {
	e.Script, e.Keys = "again", nil
	var lines []string
	var waiters []string
	asked := map[string]bool{}
	for range t.between(1, 4) {
		o, ok := t.waiter()
		if !ok || !o.Line.Place.IsKnown() {
			o = t.obtaining(pick(t.dice, ids...))
			o.Line.Place = proto.PlaceOf(begin)
		}
		if asked[o.Line.ID] {
			continue
		}
		asked[o.Line.ID] = true
		waiters = append(waiters, o.Line.ID, placed(o.Line.Place), fmt.Sprint(len(o.Set)))
		for _, s := range o.Set {
			if !slices.Contains(e.Keys, s.Key) {
				e.Keys, lines = append(e.Keys, s.Key), append(lines, s.Line)
			}
			waiters = append(waiters, fmt.Sprint(slices.Index(e.Keys, s.Key)+1))
		}
	}
	e.Args = append(head("", "", len(e.Keys), len(e.Keys), "", ""), waiters...)
	e.Keys = append(e.Keys, lines...)
}

func (t *thrower) inspect(e *Step) {
	s := spotOf(pick(t.dice, t.names...))
	e.Script, e.Keys = "inspect", []string{s.Key, s.Line, s.Intent, s.Fence}
}
