package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// checkFencing looks whether numbers grow, and whether a resource takes what it should.
func checkFencing(h *history.History, _ Bounds) (found []Finding, looked int) {
	r := newRound(h)
	for _, key := range r.numbersByKey() {
		found = append(found, r.grows(key)...)
		looked += len(key)
	}
	more, n := r.checkResources()
	return first(append(found, more...)), looked + n
}

// A number is a fencing number that a lock has said, of one key.
type number struct {
	hold  *hold
	op    *history.Operation
	key   string
	fence int64
	// given says that it was given for this key, so that all numbers of the key which are given later are greater. asked says
	// that it was given after the Call, so that it is greater than all before.
	given, asked bool
}

// numbersByKey returns the numbers that locks have said, key by key.
func (r *round) numbersByKey() map[string][]number {
	of := map[string][]number{}
	for _, h := range r.holds {
		if h.obtain.Package == history.Multi || h.obtain.Outcome != history.OK {
			continue // a lock of several parts has several numbers
		}
		keys, reads := slices.Concat(h.obtain.Write, h.obtain.Read), h.obtain.Read
		add := func(o *history.Operation, given, asked bool) {
			if o.Fence == 0 || !o.Returned || o.Outcome != history.OK {
				return
			}
			for _, k := range keys {
				name := string(realm(h.obtain.Package)) + " " + k
				of[name] = append(of[name], number{h, o, k, o.Fence, given, asked})
			}
		}
		switch {
		case h.obtain.Action == history.Lead:
			add(h.obtain, true, len(h.windows) > 0) // a leader that was stopped may begin when others have led since
		case h.obtain.Action == history.Obtain && h.obtain.Package == history.Reentrant:
			add(h.obtain, len(keys) == 1, !r.heldBefore(h))
		case h.obtain.Action == history.Obtain:
			add(h.obtain, true, h.obtain.Token == "" || !r.heldBefore(h))
		}
		for _, o := range h.ops {
			switch o.Action {
			case history.ReleaseKeys:
				isGone := func(k string) bool { return slices.Contains(o.Write, k) || slices.Contains(o.Read, k) }
				keys, reads = slices.DeleteFunc(slices.Clone(keys), isGone), slices.DeleteFunc(slices.Clone(reads), isGone)
			case history.Downgrade:
				if o.Returned && o.Outcome == history.OK {
					reads = keys
				}
			case history.Upgrade:
				add(o, true, h.obtain.Token == "" && len(reads) > 0) // of what is written already it gives none
				reads = nil
			case history.RaiseFence:
				add(o, true, false)
			}
		}
	}
	return of
}

// heldBefore reports whether the owner, or the token, of a hold may have had keys of it already, with the numbers of then.
func (r *round) heldBefore(h *hold) bool {
	for _, other := range r.holds {
		if other == h || !sameHold(other, h) || other.obtain.At > h.obtain.End {
			continue
		}
		if other.obtain.Returned && other.obtain.Outcome == history.Refused && other.obtain.End < h.obtain.At {
			continue
		}
		if released := other.released(); released == nil || released.Outcome != history.OK || released.End > h.obtain.At {
			return true
		}
	}
	return false
}

// released is the first Release or Leave of a lock; nil if there is none.
func (h *hold) released() *history.Operation {
	for _, o := range h.ops {
		if o.Action == history.Release || o.Action == history.Leave {
			return o
		}
	}
	return nil
}

// grows looks at the numbers of one key: one that was asked for after another one had been returned is greater.
func (r *round) grows(numbers []number) (found []Finding) {
	returned, asked := slices.Clone(numbers), slices.Clone(numbers)
	slices.SortStableFunc(returned, func(a, b number) int { return cmp.Compare(a.op.End, b.op.End) })
	slices.SortStableFunc(asked, func(a, b number) int { return cmp.Compare(a.op.At, b.op.At) })
	var greatest *number
	next := 0
	for i := range asked {
		b := &asked[i]
		for ; next < len(returned) && returned[next].op.End < b.op.At; next++ {
			if a := &returned[next]; a.given && (greatest == nil || a.fence > greatest.fence) {
				greatest = a
			}
		}
		if a := greatest; b.asked && a != nil && (b.fence < a.fence || b.fence == a.fence && a.hold != b.hold) {
			text := fmt.Sprintf("numbers grow from lock to lock, but %s %d of process %d was called at %s and given %d for %q, after %s %d of process %d had %d at %s",
				b.op.Action, b.op.Op, b.op.Process, b.op.At, b.fence, b.key, a.op.Action, a.op.Op, a.op.Process, a.fence, a.op.End)
			found = append(found, Finding{Promise: Fencing, Text: text, Events: r.show([]*history.Operation{a.op, b.op})})
		}
	}
	return found
}

// sameHold reports whether two locks may be one hold in Redis, which has one number.
func sameHold(a, b *hold) bool {
	x, y := a.obtain, b.obtain
	return a == b || x.Token != "" && x.Token == y.Token || x.Owner != "" && x.Owner == y.Owner
}

// checkResources looks at what resources have taken and refused: none takes a number smaller than one it has taken, none
// refuses a number if it cannot have seen a greater one.
func (r *round) checkResources() (found []Finding, looked int) {
	of := map[string][]*history.Operation{}
	for i := range r.ops {
		if o := &r.ops[i]; o.Action == history.Enter {
			for _, k := range o.Write {
				of[string(o.Package)+" "+k] = append(of[string(o.Package)+" "+k], o)
			}
		}
	}
	for _, enters := range of {
		looked += len(enters)
		found = append(found, r.checkResource(enters)...)
	}
	return found, looked
}

func (r *round) checkResource(enters []*history.Operation) (found []Finding) {
	byEnd := slices.Clone(enters)
	slices.SortStableFunc(byEnd, func(a, b *history.Operation) int { return cmp.Compare(a.End, b.End) })
	var greatest *history.Operation
	next := 0
	for _, o := range enters {
		for ; next < len(byEnd) && byEnd[next].End < o.At; next++ {
			if e := byEnd[next]; e.Outcome == history.OK && (greatest == nil || e.Fence > greatest.Fence) {
				greatest = e
			}
		}
		switch {
		case o.Outcome == history.OK && greatest != nil && o.Fence < greatest.Fence:
			text := fmt.Sprintf("a resource takes no older number, but that of %q took %d of process %d at %s, after it had taken %d of process %d at %s",
				o.Write, o.Fence, o.Process, o.End, greatest.Fence, greatest.Process, greatest.End)
			found = append(found, Finding{Promise: Fencing, Text: text, Events: r.show([]*history.Operation{greatest, o})})
		case o.Outcome == history.Refused && !anyGreater(enters, o):
			text := fmt.Sprintf("a resource refuses only numbers smaller than one it has seen, but that of %q refused %d of process %d at %s, and nobody had come with a greater one",
				o.Write, o.Fence, o.Process, o.End)
			found = append(found, Finding{Promise: Fencing, Text: text, Events: r.show([]*history.Operation{o})})
		}
	}
	return found
}

// anyGreater reports whether somebody had asked the resource to take a greater number by the time of the refusal.
func anyGreater(enters []*history.Operation, refused *history.Operation) bool {
	for _, e := range enters {
		if e.At > refused.End {
			break
		}
		if e.Fence > refused.Fence {
			return true
		}
	}
	return false
}
