package check

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// forever is later than everything.
const forever = time.Duration(math.MaxInt64)

// mostFindings is how many findings a checker returns: the first ones tell what is wrong.
const mostFindings = 20

// An id names an operation, and the lock that came of it.
type id struct{ process, op int }

// A span is a time from a moment to another one, which is not a part of it.
type span struct{ begin, end time.Duration }

func (s span) overlaps(other span) bool { return s.begin < other.end && other.begin < s.end }

// A fault is one of the plan, and when it was there.
type fault struct {
	span
	name string
}

// A round is a history as checkers look at it.
type round struct {
	events  []history.Event
	ops     []history.Operation // in the order of their calls
	byID    map[id]*history.Operation
	holds   []*hold // of all obtains and leads, however they ended, in the order of their calls
	holdOf  map[id]*hold
	stalls  map[int][]span          // of each process, the earliest first
	killed  map[int]time.Duration   // when it is known that the process is dead
	left    map[int]time.Duration   // when the process ended by itself
	wrote   map[int][]time.Duration // when the process wrote something
	faults  []fault                 // from the beginning of each to its end
	breaks  []*history.Operation
	locals  map[int][]*hold // of each process, the locks that were obtained by way of its own lines, in the order of their calls
	outside time.Duration   // when the first fault began that was not done to a worker
	settled time.Duration   // forever: it never did
	end     time.Duration   // the latest event
}

// newRound looks through a history.
func newRound(h *history.History) *round {
	r := &round{
		events: h.Events, ops: h.Operations(), byID: map[id]*history.Operation{}, holdOf: map[id]*hold{},
		stalls: map[int][]span{}, killed: map[int]time.Duration{}, left: map[int]time.Duration{},
		wrote: map[int][]time.Duration{}, settled: forever, outside: forever,
		locals: map[int][]*hold{},
	}
	for i := range r.ops {
		o := &r.ops[i]
		r.byID[id{o.Process, o.Op}] = o
		switch o.Action {
		case history.Obtain, history.Lead, history.Attach:
			r.addHold(o)
		case history.Break:
			r.breaks = append(r.breaks, o)
		}
	}
	open := map[int]int{} // by number: the faults that are not over
	for _, e := range r.events {
		r.end = max(r.end, e.At)
		r.take(e, open)
	}
	r.follow()
	return r
}

func (r *round) addHold(o *history.Operation) {
	h := &hold{id: id{o.Process, o.Op}, obtain: o}
	r.holds = append(r.holds, h)
	r.holdOf[h.id] = h
	if o.Local && o.Way == history.Queue && o.Returned && o.Outcome == history.OK {
		r.locals[o.Process] = append(r.locals[o.Process], h)
	}
}

// take takes in what an event says about a process or about the whole round.
func (r *round) take(e history.Event, open map[int]int) {
	if e.Process != 0 {
		r.wrote[e.Process] = append(r.wrote[e.Process], e.At)
	}
	switch e.Kind {
	case history.Stall:
		r.stalls[e.Process] = append(r.stalls[e.Process], span{e.At - e.For, e.At})
	case history.Killed:
		if _, ok := r.killed[e.Op]; !ok {
			r.killed[e.Op] = e.At
		}
	case history.Left:
		r.left[e.Process] = e.At
	case history.Settled:
		r.settled = min(r.settled, e.At)
	case history.Fault:
		open[e.Op] = len(r.faults)
		if !isOfWorker(e.Name) {
			r.outside = min(r.outside, e.At)
		}
		r.faults = append(r.faults, fault{span{e.At, forever}, e.Name})
	case history.Healed:
		if i, ok := open[e.Op]; ok {
			r.faults[i].end = e.At
			delete(open, e.Op)
		}
	}
}

// dead is when the process was certainly no longer running, by a kill or by itself; forever if it was not seen to end.
func (r *round) dead(process int) time.Duration {
	at := forever
	if killed, ok := r.killed[process]; ok {
		at = killed
	}
	if left, ok := r.left[process]; ok {
		at = min(at, left)
	}
	return at
}

// allow is the moment until which a process that runs has done something, if it was to do that at `at` and may be late by so
// much: a process that did not run meanwhile has so much time from when it runs again.
func (r *round) allow(process int, at, late time.Duration) time.Duration {
	limit := at + late
	for _, s := range r.stalls[process] {
		if s.begin <= limit && s.end >= at {
			limit = max(limit, s.end+late)
		}
	}
	return limit
}

// ran reports whether a process has certainly run at that moment, or had run before, and goes on for a while: it has written
// something since, and not just before it ended. One that is stopped, goes on and is killed at once may not have written that
// it was stopped.
func (r *round) ran(process int, at, late time.Duration) bool {
	end := min(r.dead(process), r.end) - late
	for _, e := range r.wrote[process] {
		if e >= at {
			return e <= end
		}
	}
	return false
}

// stalled is for how long the process did not run in all, in stalls that have something of the span.
func (r *round) stalled(process int, s span) time.Duration {
	sum := time.Duration(0)
	for _, stall := range r.stalls[process] {
		if stall.overlaps(s) {
			sum += stall.end - stall.begin
		}
	}
	return sum
}

// disturbed reports whether a fault can have had an effect between two moments. A fault has effects for a while after it
// is over.
func (r *round) disturbed(s span, effect time.Duration) bool {
	for _, f := range r.faults {
		if f.begin <= s.end && (f.end == forever || f.end+effect >= s.begin) {
			return true
		}
	}
	return false
}

// slowed returns by how much a request may have been slower, in some part of a span, than without faults.
func (r *round) slowed(s span) time.Duration {
	sum := time.Duration(0)
	for _, f := range r.faults {
		if f.overlaps(s) && !isOfWorker(f.name) {
			sum += min(f.end, s.end) - max(f.begin, s.begin)
		}
	}
	return sum
}

// isSetBack reports whether the clock of a server may be less, in some part of a span, than it has been before. A fault that sets
// a clock ahead sets it back in the end.
func (r *round) isSetBack(s span, b Bounds) bool {
	return slices.ContainsFunc(r.faults, func(f fault) bool {
		return strings.HasPrefix(f.name, "clock-") && f.begin <= s.end && (f.end == forever || f.end+b.Shift >= s.begin)
	})
}

// show returns the events of operations, the earliest first, and those that are given beside.
func (r *round) show(ops []*history.Operation, beside ...history.Event) []history.Event {
	wanted := map[id]bool{}
	for _, o := range ops {
		if o != nil {
			wanted[id{o.Process, o.Op}] = true
		}
	}
	events := slices.Clone(beside)
	for _, e := range r.events {
		if (e.Kind == history.Call || e.Kind == history.Return || e.Kind == history.Waiting) && wanted[id{e.Process, e.Op}] {
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

// window is for how long a lease of ttl is certain, from before it was asked for.
func window(ttl time.Duration) time.Duration {
	return ttl - min(ttl/100+2*time.Millisecond, ttl/2)
}

// common is a key that both operations are about, if one of them wants to write it; if not it reports false.
func common(a, b *history.Operation) (string, bool) {
	for _, k := range a.Write {
		if slices.Contains(b.Write, k) || slices.Contains(b.Read, k) {
			return k, true
		}
	}
	for _, k := range a.Read {
		if slices.Contains(b.Write, k) {
			return k, true
		}
	}
	return "", false
}

// realm says whose keys exclude each other. The names of keys are the same in all of them.
func realm(p history.Package) history.Package {
	if p == history.Reentrant {
		return history.Plain
	}
	return p
}
