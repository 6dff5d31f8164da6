package server

import (
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/proto/decode"
)

// This file is what the scripts are asked for, as the model has it: each key with what stands beside it, and times in ms.
// Package decode reads it from KEYS and ARGV.

// A Head is what nearly every script is told.
type Head struct {
	Set    []Spot
	Writes int // how many of its keys are to be written: the first
	Value  Value
	TTL    int64 // 0: none
	Can    decode.Letters
	Stamp  decode.Stamp
}

func headOf(c decode.Call) Head {
	return Head{spotsOf(c.Set), c.Set.Writes, Value(c.Value), c.TTL.Milliseconds(), c.Can, c.Stamp}
}

// spotsOf are the keys of a set.
func spotsOf(set proto.Set) []Spot {
	spots := make([]Spot, len(set.Keys))
	for i, key := range set.Keys {
		spots[i] = Spot{Key: key, Line: nameAt(set.Lines, i), Fence: nameAt(set.Fences, i)}
	}
	return spots
}

// nameAt is the i-th of some names; empty if the script was not given it.
func nameAt(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return ""
	}
	return names[i]
}

// An Obtaining asks for a set.
type Obtaining struct {
	Head
	Declares bool  // intents
	Intent   int64 // for how long; 0: it will not ask again
	Uptime   int64 // for how long the server has to have been up
	Line     *proto.Waiter
}

// ObtainingOf is what obtain.lua or rw.lua is asked for by a call of it.
func ObtainingOf(c decode.Call) Obtaining {
	q := c.Obtain
	o := Obtaining{headOf(c), q.Declares, q.Intent.Milliseconds(), q.MinUptime.Milliseconds(), q.Waiter}
	reads := len(o.Set) - o.Writes
	for i := range o.Set {
		if i < o.Writes { // their intents stand behind those of the others
			o.Set[i].Intent = nameAt(q.Intents, reads+i)
		} else {
			o.Set[i].Intent = nameAt(q.Intents, i-o.Writes)
		}
	}
	return o
}

// A Releasing frees a set, or leaves it for some time.
type Releasing struct {
	Head
	Left      int64 // for how long it leaves the set; 0: it frees it
	HasCaller bool
	Caller    string // its channel
	ID        string // of a waiter that gives up; empty: there is none
	Place     proto.Place
	Next      *proto.Next // who is to get the keys; nil: nobody is known
	Spared    []int       // indexes of the keys that are not to be freed
}

func releasingOf(c decode.Call) Releasing {
	return Releasing{headOf(c), c.Left.Milliseconds(), c.HasCaller, c.Release.Channel, c.Release.Waiter, c.Release.Place, c.Next, c.Spared}
}

// A Leasing gives a held set another lease, and perhaps other modes, or a number.
type Leasing struct {
	Head
	Number int64
}

func leasingOf(c decode.Call) Leasing {
	q := Leasing{Head: headOf(c)}
	if c.Raise != nil {
		q.Number = c.Raise.Number
	}
	return q
}

// A Breaking takes keys from whoever holds them.
type Breaking struct {
	Head
	Channel string // of those who listen for what is broken
	Text    string // what they are told
}

func breakingOf(c decode.Call) Breaking { return Breaking{headOf(c), c.Break.Channel, c.Break.Text} }

// A Plain is one of a bundle: a set to take, or to release, as far as that is plain.
type Plain struct {
	Set   []Spot
	Value Value
	TTL   int64 // 0: it releases
}

func bundleOf(c decode.Call) (all []Plain) {
	for _, p := range c.Batch {
		all = append(all, Plain{spotsOf(p.Set), Value(p.Value), p.TTL.Milliseconds()})
	}
	return all
}

// A Round asks for waiters that have heard nothing.
type Round struct {
	Set     []Spot
	Waiters []decode.Waiter
}

func roundOf(c decode.Call) Round { return Round{spotsOf(c.Set), c.Round} }

func spotIn(c decode.Call) Spot {
	return Spot{Key: c.Inspect.Key, Line: c.Inspect.Line, Intent: c.Inspect.Intent, Fence: c.Inspect.Fence}
}
