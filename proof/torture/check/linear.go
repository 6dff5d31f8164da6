package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// linearLimit is for how long the search may go on, in all.
const linearLimit = 30 * time.Second

// checkLinear looks whether one order of all operations explains what was answered, see [Linearize].
func checkLinear(h *history.History, b Bounds) (found []Finding, looked int) {
	if !b.Endless {
		return nil, 0
	}
	found, looked, _ = Linearize(h, linearLimit)
	return found, looked
}

// Linearize looks whether one order of all operations explains what was answered, in a round in which no lease ends. The
// model is one of read and write locks of sets of keys. It has the locks of package redislock without tokens of their own.
//
// An operation without a certain answer may have been executed at any time from its Call on, or not at all. An obtain of that
// kind is left out: if it took something, that explains refusals at its keys, so these are left out as well. So it is with
// what the model does not have. A refusal by those who wait says nothing of who holds a key.
//
// The limit is for how long the search may go on. Operations for which that was too short are undecided: nothing was found of
// them, and nothing was shown.
func Linearize(h *history.History, limit time.Duration) (found []Finding, looked, undecided int) {
	r := newRound(h)
	deadline := time.Now().Add(limit)
	for _, part := range r.steps().parts() {
		left := time.Until(deadline)
		if left <= 0 {
			undecided += len(part.ops)
			continue
		}
		result, info := porcupine.CheckOperationsVerbose(model(part.keys), part.ops, left)
		switch result {
		case porcupine.Ok:
			looked += len(part.ops)
		case porcupine.Illegal:
			looked += len(part.ops)
			found = append(found, r.illegal(part, info))
		default:
			undecided += len(part.ops)
		}
	}
	return first(found), looked, undecided
}

// illegal tells of the first operation that fits no order of those before it.
func (r *round) illegal(p *part, info porcupine.LinearizationInfo) Finding {
	var longest []int
	for _, some := range info.PartialLinearizations() {
		for _, l := range some {
			if len(l) > len(longest) {
				longest = l
			}
		}
	}
	placed := make([]bool, len(p.ops))
	for _, i := range longest {
		placed[i] = true
	}
	culprit := -1
	for i, o := range p.ops {
		if !placed[i] && (culprit < 0 || o.Return < p.ops[culprit].Return) {
			culprit = i
		}
	}
	if culprit < 0 {
		return Finding{Promise: Linear, Text: "no order of the operations explains all answers"}
	}
	this := p.ops[culprit]
	var near []*history.Operation
	for i, o := range p.ops {
		if o.Call <= this.Return && o.Return >= this.Call {
			near = append(near, p.from[i])
		}
	}
	text := fmt.Sprintf("one order of all operations explains every answer, but none does up to %s of %q, from %s to %s; %d of %d operations have an order",
		this.Input.(input).say, p.keys, time.Duration(this.Call), time.Duration(this.Return), len(longest), len(p.ops))
	return Finding{Promise: Linear, Text: text, Events: r.show(append(near, p.from[culprit]))}
}

// A part is what is to be explained together: operations on keys that no others have.
type part struct {
	keys []string
	ops  []porcupine.Operation
	from []*history.Operation // of each of the ops
}

// parts divides the steps by their keys.
func (s *steps) parts() []*part {
	root := map[string]string{}
	find := func(k string) string {
		for root[k] != "" && root[k] != k {
			k = root[k]
		}
		return k
	}
	for _, st := range s.all {
		for _, k := range st.keys() {
			if a, b := find(k), find(st.keys()[0]); a != b {
				root[a] = b
			}
		}
	}
	byRoot := map[string]*part{}
	for _, st := range s.all {
		keys := st.keys()
		if len(keys) == 0 {
			continue
		}
		name := find(keys[0])
		if byRoot[name] == nil {
			byRoot[name] = &part{}
		}
		byRoot[name].add(st)
	}
	var parts []*part
	for _, name := range sorted(byRoot) {
		parts = append(parts, byRoot[name])
	}
	return parts
}

func (p *part) add(st step) {
	places := func(keys []string) (at []int) {
		for _, k := range keys {
			i := slices.Index(p.keys, k)
			if i < 0 {
				i, p.keys = len(p.keys), append(p.keys, k)
			}
			at = append(at, i)
		}
		return at
	}
	in := st.input
	in.write, in.read = places(st.write), places(st.read)
	p.ops = append(p.ops, porcupine.Operation{
		ClientId: st.row, Input: in, Call: int64(st.from), Output: nil, Return: int64(st.to),
	})
	p.from = append(p.from, st.of)
}
