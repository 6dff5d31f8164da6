package check

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// checkOrder looks for callers that came later and were served sooner than one that stood in line, at a key that they could
// not have together.
//
// A waiter says that it waits when its first attempt was refused; it may stand in line only a moment later, when it has
// subscribed. So those count as later that were called Bounds.Late after that, and later if its process did not run meanwhile. They count whether they queue or not: nobody
// passes a line. It is certain that the waiter was not granted the lock, and lost it again, before the other one had it, if
// its lease would have been longer than that, or its process ran for most of it and its lease is longer than an answer takes.
//
// Where holds are passed on, those of one Client may pass others for one PassOn in each turn: see local.go. In one line nobody does.
//
// Waiters that have left the line without a lock are left out, and those with tokens of their own and of other packages, which
// may hold keys already. A fault that may lose lines, or connections, breaks this promise: see the package comment.
func checkOrder(h *history.History, b Bounds) (found []Finding, looked int) {
	r := newRound(h)
	waiters, served := map[string][]*hold{}, map[string][]*hold{}
	for _, hold := range r.holds {
		o := hold.obtain
		if o.Action != history.Obtain || o.Package != history.Plain || o.Token != "" {
			continue
		}
		for _, k := range slices.Concat(o.Write, o.Read) {
			if o.Returned && o.Outcome == history.OK {
				served[k] = append(served[k], hold)
			}
			if o.Way == history.Queue && hold.waiting > 0 {
				waiters[k] = append(waiters[k], hold)
			}
		}
	}
	for _, k := range sorted(served) {
		f, n := r.ordered(k, waiters[k], served[k], b)
		found, looked = append(found, f...), looked+n
	}
	return first(append(found, r.checkPassed(b)...)), looked
}

// ordered looks at those who wait, and those who were served, at one key.
func (r *round) ordered(key string, waiters, served []*hold, b Bounds) (found []Finding, looked int) {
	slices.SortStableFunc(waiters, func(x, y *hold) int { return cmp.Compare(x.waiting, y.waiting) })
	slices.SortStableFunc(served, func(x, y *hold) int { return cmp.Compare(x.obtain.At, y.obtain.At) })
	var line []*hold
	for _, later := range served {
		came := later.obtain.At
		for len(waiters) > 0 && waiters[0].waiting+min(b.Late, atOnce) < came {
			line, waiters = append(line, waiters[0]), waiters[1:]
		}
		line = slices.DeleteFunc(line, func(h *hold) bool { return h.obtain.End <= came })
		for _, waiter := range line {
			if waiter == later || !conflictAt(key, waiter.obtain, later.obtain) {
				continue
			}
			behind := waiter.waiting + r.lateFor(waiter.obtain, later.obtain, b)
			if behind >= came {
				continue
			}
			looked++
			if later.obtain.End < waiter.obtain.End && r.stoodInLine(waiter, later, behind, b) && !r.mayPass(waiter, later) {
				found = append(found, r.overtaken(key, waiter, later))
			}
		}
	}
	return found, looked
}

// conflictAt reports whether two sets cannot be held together because of a key, and that key is the first such: so a pair is
// looked at once.
func conflictAt(key string, a, b *history.Operation) bool {
	k, ok := common(a, b)
	return ok && k == key
}

// stoodInLine reports whether it is certain that a waiter was in line, and was not granted the lock, until the other one had it.
// Who is called after behind is behind the waiter, if that has not stalled.
func (r *round) stoodInLine(waiter, later *hold, behind time.Duration, b Bounds) bool {
	o, process, until := waiter.obtain, waiter.id.process, later.obtain.End
	switch {
	case o.Returned && o.Outcome != history.OK:
		return false // it may have left the line before
	case !o.Returned && !r.ran(process, until, b.Late):
		return false
	case later.obtain.At <= behind+2*r.stalled(process, span{o.At, later.obtain.At}):
		return false // it may have entered the line late
	case until >= waiter.waiting+window(o.TTL) && (o.TTL <= 4*b.Late || r.stalled(process, span{o.At, until}) >= o.TTL/4):
		return false // it may have had the lock, and not have known in time
	case o.Local && r.isSetBack(span{o.At, until}, b):
		return false // it may have entered late, behind all who stood there: see "In one process" in docs/waiting.md
	case r.stalled(process, span{o.At, until}) >= 5*time.Second:
		return false // it may have been taken for dead
	}
	return !r.mayBeBroken(o, span{o.At, until})
}

// mayBeBroken reports whether a key of the operation may have been broken within the span.
func (r *round) mayBeBroken(o *history.Operation, s span) bool {
	for _, br := range r.breaks {
		if by := executed(br); by.begin <= s.end && by.end >= s.begin {
			if _, ok := common(br, o); ok {
				return true
			}
		}
	}
	return false
}

func (r *round) overtaken(key string, waiter, later *hold) Finding {
	a, b := waiter.obtain, later.obtain
	text := fmt.Sprintf("whoever stands in line first comes first, but obtain %d of process %d, which was called at %s, had %q at %s, and obtain %d of process %d had stood in line for it since %s",
		b.Op, b.Process, b.At, key, b.End, a.Op, a.Process, waiter.waiting)
	return Finding{Promise: Order, Text: text, Events: r.show([]*history.Operation{a, b})}
}
