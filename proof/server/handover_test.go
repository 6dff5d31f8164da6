package server

import (
	"slices"

	"github.com/seed-14de3678/redislock/internal/proto"
)

// A handover is a set that one holds, who is about to release just that, and others wait for in its lines. A release looks first whether
// it can hand the set over to one of them.
type handover struct {
	holder Value
	set    []string
	fenced bool
}

// plantHandover puts a set of several keys, or of one, with a waiter that wants all of it, most often before everybody else.
func (d dice) plantHandover(space Space) *handover {
	h := &handover{d.value(pick(d, tokens...)), d.names[:pick(d, 1, 2, 2, 3, 3, 4)], d.chance(50)}
	var spots []Spot
	for _, name := range h.set {
		spots = append(spots, spotOf(name))
	}
	for _, s := range spots {
		delete(space, s.Line)
		space[s.Key] = &Thing{Kind: String, Text: string(h.holder), End: d.end(pick(d, ttls...))}
		if kind := space.kind(s.Fence); h.fenced && (kind == None || kind == Hash) && !d.chance(10) {
			number := decimal(begin - 1 - int64(d.IntN(9)))
			fields := map[string]string{Greatest: number, writes: written(number, h.holder.Token()), h.holder.Token(): number}
			if d.chance(20) {
				delete(fields, pick(d, writes, h.holder.Token()))
			}
			space[s.Fence] = &Thing{Kind: Hash, Fields: fields, End: d.end(day)}
		}
	}
	for k, id := range ids[:d.between(1, 3)] {
		o := Obtaining{Head: Head{Set: slices.Clone(spots), Writes: len(spots), Value: d.value(pick(d, tokens...)), TTL: pick(d, asksAgain, 20_000, 60_000, pick(d, ttls...))}}
		if o.Can.Fenced = h.fenced != d.chance(10); d.chance(10) {
			o.Writes = d.IntN(len(spots) + 1)
		}
		if k > 0 && d.chance(50) { // it wants others
			o.Set = o.Set[d.IntN(len(o.Set)):]
			o.Writes = min(o.Writes, len(o.Set))
		}
		channel := pick(d, channels[0], channels[0], channels[3], pick(d, channels...))
		o.Line = &proto.Waiter{ID: id, Sharded: channel[0] == 's', Channel: channel}
		d.wants[id] = o
		d.plantNext(space, o, float64(begin-2_000_000+int64(k)*10))
	}
	return h
}

// plantNext puts a waiter into its lines, and now and then something before it, or leaves one line out.
func (d dice) plantNext(space Space, o Obtaining, place float64) {
	till := d.end(int64(pick(d, 14_800, 14_800, 14_800, 1, 0)))
	for i, s := range o.Set {
		switch d.IntN(14) {
		case 0:
			continue
		case 1:
			space.Add(s.Line, pick(d, "w9|x", "|", o.Line.ID), float64(begin-3_000_000))
		case 2:
			space.Add(s.Line, pick(d, tokens...), Guard{float64(d.IntN(4)), float64(begin/1_000_000 + int64(d.IntN(300)))}.Score())
		}
		space.Add(s.Line, o.EntryFor(i, till).String(), place)
		space[s.Line].End = d.end(int64(pick(d, 30_000, 30_000, 301_000)))
	}
}

// releaseWhole releases such a set.
func (t *thrower) releaseWhole(e *Step) {
	h := t.handover
	e.Script, e.Keys = "release", beside(slices.Clone(h.set), h.set, line)
	letter := ""
	if h.fenced {
		e.Keys, letter = beside(e.Keys, h.set, fence), "f"
	}
	stamp := ""
	if t.chance(30) {
		stamp = pick(t.dice, h.holder.Token(), ids[0]) + "|" + decimal(int64(t.IntN(3))) + "|"
	}
	e.Args = append(head(h.holder, "", len(h.set), len(h.set), letter, stamp), t.yes(50, channels[0]))
	if t.chance(35) {
		e.Args = append(e.Args, ">"+t.block(h.fenced), decimal(-t.age()), decimal(pick(t.dice, 20_000, pick(t.dice, ttls...))), string(t.value("n1")))
		return
	}
	e.Args = lean(e.Args)
}
