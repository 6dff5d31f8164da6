package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// waiterLife is for how long others may take a waiter for alive that has gone.
const waiterLife = 15 * time.Second

// blocking is who may have been in the way of others at a key: who may have held it, kept it or wanted it, and when.
type blocking struct {
	all, writers presences
}

// A presence is the time in which an operation, and what came of it, may have been in the way.
type presence struct {
	span
	op *history.Operation
}

// presences are sorted by their beginnings. Of each and those before it the two are known that end last.
type presences struct {
	sorted []presence
	last   [][2]presence
}

// blockers returns who may have been in the way at each key. Of an election that is not known.
func (r *round) blockers() map[string]*blocking {
	of := map[string]*blocking{}
	at := func(k string) *blocking {
		if of[k] == nil {
			of[k] = &blocking{}
		}
		return of[k]
	}
	for _, h := range r.holds {
		p := presence{span{h.obtain.At, h.gone()}, h.obtain}
		if h.obtain.Action != history.Obtain || h.obtain.Package == history.Election {
			p.span = span{0, forever}
		}
		for _, k := range h.obtain.Write {
			at(k).all.add(p)
			at(k).writers.add(p)
		}
		for _, k := range h.obtain.Read {
			at(k).all.add(p)
			if h.upgrades() {
				at(k).writers.add(p)
			}
		}
	}
	for _, b := range of {
		b.all.index()
		b.writers.index()
	}
	return of
}

func (s *presences) add(p presence) { s.sorted = append(s.sorted, p) }

func (s *presences) index() {
	slices.SortStableFunc(s.sorted, func(a, b presence) int { return cmp.Compare(a.begin, b.begin) })
	var last [2]presence
	for _, p := range s.sorted {
		switch {
		case p.end > last[0].end:
			last = [2]presence{p, last[0]}
		case p.end > last[1].end:
			last[1] = p
		}
		s.last = append(s.last, last)
	}
}

// anybody reports whether somebody else than the operation itself may have been in its way within the span.
func (b *blocking) anybody(s span, self *history.Operation, reads bool) bool {
	if b == nil {
		return false
	}
	who := &b.all
	if reads {
		who = &b.writers
	}
	n, _ := slices.BinarySearchFunc(who.sorted, s.end, func(p presence, at time.Duration) int {
		if p.begin <= at {
			return -1
		}
		return 1
	})
	if n == 0 {
		return false
	}
	for _, p := range who.last[n-1] {
		if p.op != nil && p.op != self && p.end >= s.begin {
			return true
		}
	}
	return false
}

// upgrades reports whether what the lock reads it may have written later.
func (h *hold) upgrades() bool {
	return h.obtain.Package == history.Reentrant || h.obtain.Token != "" ||
		slices.ContainsFunc(h.ops, func(o *history.Operation) bool { return o.Action == history.Upgrade })
}

// gone is when nothing of an obtain, and of the lock that came of it, can have been left in the servers. It is forever where
// that is a matter of requests that were not answered.
func (h *hold) gone() time.Duration {
	o := h.obtain
	switch {
	case !o.Returned, o.Outcome != history.OK && o.Outcome != history.Refused:
		return forever
	case o.Outcome == history.Refused && o.Way == history.Once:
		return o.End
	case o.Outcome == history.Refused:
		return o.End + waiterLife
	case o.Token != "", o.Package == history.Reentrant:
		return forever
	}
	end := forever
	for _, op := range h.ops {
		if (op.Action == history.Release || op.Action == history.Leave) && op.Returned && op.Outcome == history.OK {
			end = min(end, op.End)
			if op.Action == history.Leave {
				end = max(end, op.End+longer(op.Kept))
			}
		}
	}
	if end == forever {
		return h.leaseOver()
	}
	return max(end, o.End+longer(o.Kept))
}

// leaseOver is when the lease of a lock that nobody has released must have ended.
func (h *hold) leaseOver() time.Duration {
	o := h.obtain
	ttl, end := o.TTL, o.End
	for _, op := range h.ops {
		switch op.Action {
		case history.Refresh, history.Upgrade, history.Downgrade:
			if !op.Returned || op.Outcome == history.Unknown || op.Outcome == history.Failed {
				return forever
			}
			ttl, end = max(ttl, op.TTL), max(end, op.End)
		}
		if op.Action == history.Leave || o.Kept > 0 {
			return forever
		}
	}
	if o.Renewed {
		return forever
	}
	return end + longer(ttl)
}

// longer is a time that a server counts, as long as it can be by the clock of the history.
func longer(d time.Duration) time.Duration {
	if d == 0 {
		return 0
	}
	return d + d/50 + 50*time.Millisecond
}
