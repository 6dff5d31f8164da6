package server

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
)

// A thrower throws steps, one after the other.
type thrower struct {
	dice
	space  Space // as it is now
	micros int64
	heard  [3]hearing
	// later throws what courses did not have at first, so that those without it are still the same; nil: this is one of them.
	later *dice
	// blocks throws who gets a block of fencing numbers.
	blocks *dice
}

// A hearing is how many hear a channel: 's' or 'p' stands before its name.
type hearing struct {
	channel string
	by      int
}

// hearings are in each order in which the dice may be thrown for them.
var hearings = func() [][3]hearing {
	one, two, three := hearing{"pp:one", 1}, hearing{"pp:two", 2}, hearing{"ss:three", 1}
	return [][3]hearing{{one, two, three}, {one, three, two}, {two, one, three}, {two, three, one}, {three, one, two}, {three, two, one}}
}()

func (d dice) thrower(c course) *thrower {
	t := &thrower{dice: d, micros: begin, heard: hearings[c.order]}
	if !c.first {
		t.later = &dice{Rand: rand.New(rand.NewPCG(c.seed, 1))}
		t.blocks = &dice{Rand: rand.New(rand.NewPCG(c.seed, 2))}
	}
	return t
}

// step throws the next step.
func (t *thrower) step(space Space) Step {
	t.space = space
	t.pass()
	e := Step{Micros: t.micros, Up: int64(pick(t.dice, 1, 5, 61, 5000)), Heard: map[string]int{}}
	for _, h := range t.heard {
		if !t.chance(10) {
			e.Heard[h.channel] = h.by
		}
	}
	if t.handover != nil {
		t.releaseWhole(&e)
		t.handover = nil
		return e
	}
	throw := pick(t.dice, t.obtain, t.rw, t.rw, t.inLine, t.inLine, t.inLine, t.release, t.release, t.release, t.refresh, t.convert,
		t.convert, t.pttl, t.raise, t.breakUp, t.batch, t.again, t.inspect)
	throw(&e)
	return e
}

// pass lets time pass: most often very little, now and then none, or too much for what there is, or back.
func (t *thrower) pass() {
	t.micros += int64(pick(t.dice, 0, 1, 1, 7, 350, 900_000, 2_000_000)) * int64(pick(t.dice, 0, 1, 1))
	switch t.IntN(40) {
	case 0:
		t.micros += int64(pick(t.dice, 16_000_000, 302_000_000, 3_600_000_000, 90_000_000_000))
	case 1:
		t.micros -= int64(pick(t.dice, 1, 3_000_000, 60_000_000))
	}
}

// owner is a token, most often one that has something.
func (t *thrower) owner() Value {
	var has []Value
	for _, name := range t.names {
		if v, ok := t.space.text(name); ok {
			has = append(has, Value(v))
		}
		for _, m := range t.space.members(name) {
			has = append(has, Value(m.Text))
		}
	}
	if len(has) == 0 || t.chance(25) {
		return t.value(pick(t.dice, tokens...))
	}
	v := has[t.IntN(len(has))]
	if v.Token() == "" || !v.IsValid() || t.chance(5) {
		return t.value(pick(t.dice, tokens...))
	}
	return v
}

// keysOf are those that an owner has, or most often has, in the order in which it may have asked for them: those to write first.
func (t *thrower) keysOf(v Value) []string {
	var keys, reads []string
	for _, name := range t.names {
		text, isWritten := t.space.text(name)
		isReader := slices.ContainsFunc(t.space.members(name), func(m Member) bool { return Value(m.Text).Token() == v.Token() })
		switch {
		case isWritten && Value(text).Token() == v.Token() && !t.chance(8):
			keys = append(keys, name)
		case isReader && !t.chance(8), t.chance(3):
			reads = append(reads, name)
		}
	}
	if len(keys)+len(reads) == 0 || t.chance(10) {
		return t.some()
	}
	return append(keys, reads...)
}

// beside appends what stands beside keys.
func beside(keys, set []string, of func(Spot) string) []string {
	for _, key := range set {
		keys = append(keys, of(spotOf(key)))
	}
	return keys
}

func line(s Spot) string   { return s.Line }
func fence(s Spot) string  { return s.Fence }
func intent(s Spot) string { return s.Intent }

// stamp throws a stamp for a set of n keys, and the letter that belongs to it. Lines in which only guards are to be set come behind
// all KEYS that there are.
func (t *thrower) stamp(e *Step, v Value, n int) (stamp, letter string) {
	if t.chance(50) {
		return "", ""
	}
	owner := pick(t.dice, v.Token(), v.Token(), pick(t.dice, ids...))
	stamp = fmt.Sprintf("%s|%d|", owner, t.IntN(5))
	for range t.IntN(3) * t.IntN(2) {
		var at int
		if at = n + 1; n > 1 && t.chance(40) {
			at += t.IntN(n)
		}
		if home := spotOf(e.Keys[0]).Line; at > len(e.Keys) || e.Keys[n] != home || t.chance(30) {
			e.Keys = append(e.Keys, pick(t.dice, spotOf(pick(t.dice, t.names...)).Line, "{elsewhere}"))
			at = len(e.Keys)
		}
		stamp += fmt.Sprintf("%s|%d|%d|", pick(t.dice, owner, owner, pick(t.dice, tokens...)), pick(t.dice, t.IntN(6), numbers-1), at)
		letter = "c"
	}
	return stamp, letter
}

func (t *thrower) ttl() string { return decimal(pick(t.dice, ttls...)) }

func (t *thrower) yes(percent int, text string) string {
	if t.chance(percent) {
		return text
	}
	return ""
}

// entries are the waiters at the homes of their sets.
func (t *thrower) entries() (all []Entry) {
	for _, name := range t.names {
		for _, m := range t.space.members(spotOf(name).Line) {
			if e := EntryOf(m); e.Home || e.Keys == 1 {
				if e.Keys == 1 {
					e.Names = []Name{{name, e.Mode}}
				}
				all = append(all, e)
			}
		}
	}
	return all
}

// stands reports whether a waiter stands in any line. It never enters one twice.
func (t *thrower) stands(id string) bool {
	return slices.ContainsFunc(t.names, func(name string) bool {
		return slices.ContainsFunc(t.space.members(spotOf(name).Line), func(m Member) bool { return m.isOf(id) })
	})
}

// waiter is one that stands in line, as it asked.
func (t *thrower) waiter() (o Obtaining, ok bool) {
	all := t.entries()
	if len(all) == 0 {
		return o, false
	}
	e := pick(t.dice, all...)
	o = Obtaining{Head: Head{Value: e.Value, TTL: e.TTL, Can: decode.Letters{Fenced: e.Fenced}}}
	o.Line = &proto.Waiter{ID: e.ID, Sharded: e.Sharded, Channel: e.Channel, Place: proto.PlaceOf(int64(e.Place))}
	if t.chance(10) {
		o.Line.Place = unknown
	}
	for _, name := range e.Names {
		if !slices.Contains(t.names, name.Key) {
			continue
		}
		if o.Set = append(o.Set, spotOf(name.Key)); name.Mode == Write {
			o.Writes++
		}
	}
	return o, len(o.Set) > 0 && o.Value.Token() != ""
}
