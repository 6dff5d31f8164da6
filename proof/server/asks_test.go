package server

import (
	"fmt"
	"slices"
	"strings"
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
	e.Args = []string{string(v), t.ttl()}
	if all := t.yes(20, "a"); stamp+letter+all != "" || declares {
		e.Args = append(e.Args, stamp, letter+all)
	}
	if declares {
		e.Args = append(e.Args, pick(t.dice, "0", "300", "5000", "90000"))
	}
}

// letters throws the letters of an obtaining.
func (t *thrower) letters(closes string, reads bool) string {
	if reads && t.chance(15) {
		closes = "k"
	}
	if reads {
		closes += t.yes(20, "s")
	}
	return closes + t.yes(15, "a")
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
	e.Args = []string{
		string(v), t.ttl(), stamp, t.letters(letter, n > writeKeys), fmt.Sprint(writeKeys), fmt.Sprint(n - writeKeys), life, "", t.uptime(),
	}
	if fenced {
		e.Args[7] = "1"
	}
}

func (t *thrower) uptime() string { return pick(t.dice, "0", "0", "0", "0", "0", "0", "60000") }

// inLine has somebody stand in line: a new one, or one that stands there and asks again.
func (t *thrower) inLine(e *Step) {
	o := t.obtaining(pick(t.dice, ids...))
	if again, ok := t.waiter(); ok && t.chance(60) {
		o = again
	} else if !t.stands(o.Line.ID) {
		o.Line.Place = pick(t.dice, "", "", "", "?")
	} else {
		o.Line.Place = "?"
	}
	var set []string
	for _, s := range o.Set {
		set = append(set, s.Key)
	}
	n := len(set)
	e.Script, e.Keys = "rw", beside(slices.Clone(set), set, line)
	if o.Fenced {
		e.Keys = beside(e.Keys, set, fence)
	}
	stamp, letter := t.stamp(e, o.Value, n)
	how, fenced := "p", ""
	if o.Line.Sharded {
		how = "s"
	}
	if o.Fenced {
		fenced = "1"
	}
	e.Args = []string{
		string(o.Value), decimal(o.TTL), stamp, t.letters(letter, n > o.Writes), fmt.Sprint(o.Writes), fmt.Sprint(n - o.Writes), "", fenced,
		t.uptime(), o.Line.ID, o.Line.Place, decimal(o.Line.Life), how, o.Line.Channel,
	}
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
		e.Keys, e.Args = append(slices.Clone(set), set...), []string{string(v)}
		return
	}
	if fenced {
		e.Keys = beside(e.Keys, set, fence)
	}
	stamp, letter := t.stamp(e, v, len(set))
	e.Args = []string{string(v), stamp, letter + t.yes(20, "s"), t.yes(60, pick(t.dice, channels...)), t.yes(0, "1")}
	if fenced {
		e.Args[4] = "1"
	}
	if waiter, ok := t.waiter(); ok && t.chance(15) {
		e.Args = append(e.Args, waiter.Line.ID, pick(t.dice, waiter.Line.Place, "?"))
	}
	if t.chance(25) {
		for len(e.Args) < 7 {
			e.Args = append(e.Args, "")
		}
		e.Args = append(e.Args, pick(t.dice, "", "2500", "40000"))
		for range t.IntN(3) {
			e.Args = append(e.Args, fmt.Sprintf("%d%s", t.between(1, len(set)), t.yes(60, "|"+pick(t.dice, tokens...))))
		}
	}
	for n := len(e.Args); n > 1 && e.Args[n-1] == "" && t.chance(60); n-- {
		e.Args = e.Args[:n-1]
	}
}

func (t *thrower) refresh(e *Step) {
	v := t.owner()
	set := t.keysOf(v)
	if t.chance(10) {
		v += "?"
		v = Value(strings.TrimSuffix(string(v), "?"))
	}
	e.Script, e.Keys = "refresh", slices.Clone(set)
	keeps := t.yes(50, "1")
	stamp, letter := "", ""
	if keeps == "" {
		e.Keys = beside(e.Keys, set, line)
		stamp, letter = t.stamp(e, v, len(set))
	} else if t.chance(50) {
		e.Keys = append(e.Keys, spotOf(set[0]).Line)
		stamp = fmt.Sprintf("%d|%s|%d|", len(set), v.Token(), t.IntN(5))
	}
	e.Args = []string{string(v), t.ttl(), stamp, letter + t.yes(30, "s"), keeps}
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
	e.Args = []string{string(v), t.ttl(), stamp, letter + t.yes(30, "s"), fmt.Sprint(writeKeys), "", t.yes(40, "1")}
	if fenced {
		e.Args[5] = "1"
	}
}

func (t *thrower) pttl(e *Step) {
	v := t.owner()
	e.Script = "pttl"
	e.Keys = t.keysOf(v)
	e.Args = []string{string(v)}
	if t.chance(40) {
		e.Args = append(e.Args, "s")
	}
}

func (t *thrower) raise(e *Step) {
	v := t.owner()
	set := t.keysOf(v)
	e.Script, e.Keys = "raise", beside(slices.Clone(set), set, fence)
	stamp, letter := "", ""
	if t.chance(50) {
		e.Keys = append(e.Keys, spotOf(set[0]).Line)
		stamp = fmt.Sprintf("%d|%s|%d|", len(set), v.Token(), t.IntN(5))
		if t.chance(30) {
			stamp, letter = stamp+fmt.Sprintf("%s|4|%d|", v.Token(), len(e.Keys)), "1"
		}
	}
	e.Args = []string{string(v), t.ttl(), stamp, letter + t.yes(30, "s"), decimal(pick(t.dice, 1, begin-1, begin+9))}
}

func (t *thrower) breakUp(e *Step) {
	set := t.some()
	e.Script, e.Keys = "break", beside(beside(slices.Clone(set), set, line), set, fence)
	v := Value(pick(t.dice, "breaker", "breaker", tokens[3]))
	stamp, letter := t.stamp(e, v, len(set))
	e.Args = []string{string(v), stamp, letter, "notices", "b|why|" + set[0]}
}

func (t *thrower) batch(e *Step) {
	e.Script = "batch"
	rest := t.some()
	for k := 0; len(rest) > 0; k++ {
		n := t.between(1, len(rest))
		v, ttl := t.value(pick(t.dice, tokens...)), t.ttl()
		if text, ok := t.space.text(rest[0]); t.chance(50) && ok {
			v, ttl, n = pick(t.dice, Value(text), Value(text), v), "0", pick(t.dice, 1, 1, n)
		}
		if ttl == "0" {
			e.Keys, e.Args = append(e.Keys, rest[:n]...), append(e.Args, fmt.Sprint(n), string(v), ttl)
		} else { // those that take come first
			e.Keys, e.Args = slices.Concat(rest[:n], e.Keys), slices.Concat([]string{fmt.Sprint(n), string(v), ttl}, e.Args)
		}
		rest = rest[n:]
	}
	e.Keys = beside(e.Keys, slices.Clone(e.Keys), line)
}

func (t *thrower) again(e *Step) {
	e.Script, e.Keys = "again", nil
	var lines []string
	e.Args = []string{"15000"}
	asked := map[string]bool{}
	for range t.between(1, 4) {
		o, ok := t.waiter()
		if !ok || o.Line.Place == "?" || o.Line.Place == "" {
			o = t.obtaining(pick(t.dice, ids...))
			o.Line.Place = decimal(begin)
		}
		if asked[o.Line.ID] {
			continue
		}
		asked[o.Line.ID] = true
		e.Args = append(e.Args, o.Line.ID, o.Line.Place, fmt.Sprint(len(o.Set)))
		for _, s := range o.Set {
			if !slices.Contains(e.Keys, s.Key) {
				e.Keys, lines = append(e.Keys, s.Key), append(lines, s.Line)
			}
			e.Args = append(e.Args, fmt.Sprint(slices.Index(e.Keys, s.Key)+1))
		}
	}
	e.Keys = append(e.Keys, lines...)
}

func (t *thrower) inspect(e *Step) {
	s := spotOf(pick(t.dice, t.names...))
	e.Script, e.Keys = "inspect", []string{s.Key, s.Line, s.Intent, s.Fence}
}
