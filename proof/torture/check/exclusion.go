package check

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// checkExclusion looks for windows of conflicting locks that overlap: at each key, in the order in which they begin.
//
// A window begins with the Return of the operation that brought it. It ends with the Deadline that the lock had last, or
// before: with the Call of what may end it or lower its mode, whoever makes that, and with a loss. Locks with the same token,
// and holds of the same owner, share their keys.
func checkExclusion(h *history.History, _ Bounds) (found []Finding, looked int) {
	r := newRound(h)
	type place struct {
		realm history.Package
		key   string
	}
	at := map[place][]*tenure{}
	for _, hold := range r.holds {
		p := realm(hold.obtain.Package)
		if hold.obtain.Action == history.Lead {
			p = history.Election
		}
		for _, w := range slices.Concat(hold.windows, hold.kept) {
			at[place{p, w.key}] = append(at[place{p, w.key}], w)
			looked++
		}
	}
	for _, windows := range at {
		found = append(found, r.sweep(windows)...)
	}
	return first(found), looked
}

// sweep goes through the windows of one key.
func (r *round) sweep(windows []*tenure) (found []Finding) {
	slices.SortStableFunc(windows, func(a, b *tenure) int { return cmp.Compare(a.begin, b.begin) })
	var writers, readers byEnd
	for _, w := range windows {
		against := []*byEnd{&writers}
		if w.write {
			against = append(against, &readers)
		}
		for _, open := range against {
			for len(*open) > 0 && (*open)[0].end <= w.begin {
				heap.Pop(open)
			}
			for _, other := range *open {
				if !share(w, other) {
					found = append(found, r.overlap(other, w))
					break
				}
			}
		}
		mine := &readers
		if w.write {
			mine = &writers
		}
		heap.Push(mine, w)
	}
	return found
}

// share reports whether two windows may overlap although they conflict.
func share(a, b *tenure) bool {
	if a.hold == b.hold {
		return true
	}
	if a.kept || b.kept {
		return false
	}
	x, y := a.hold.obtain, b.hold.obtain
	return x.Token != "" && x.Token == y.Token || x.Owner != "" && x.Owner == y.Owner
}

func (r *round) overlap(a, b *tenure) Finding {
	ops := slices.Concat([]*history.Operation{a.hold.obtain, b.hold.obtain}, a.hold.ops, b.hold.ops)
	promise := "windows of conflicting locks never overlap"
	if a.kept || b.kept {
		promise = "nobody has a key that was left before its time is over"
	}
	text := fmt.Sprintf("%s, but %s, and %s: both for %s", promise, a, b, min(a.end, b.end)-b.begin)
	return Finding{Promise: Exclusion, Text: text, Events: r.show(ops, slices.Concat(a.hold.told, b.hold.told)...)}
}

// first returns the findings that came first, and not more of them than anybody reads.
func first(found []Finding) []Finding {
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.at(), b.at()) })
	return found[:min(len(found), mostFindings)]
}

func (f Finding) at() time.Duration {
	if len(f.Events) == 0 {
		return 0
	}
	return f.Events[len(f.Events)-1].At
}

// byEnd is a heap of windows, of which the first to end is the first.
type byEnd []*tenure

func (s byEnd) Len() int           { return len(s) }
func (s byEnd) Less(i, j int) bool { return s[i].end < s[j].end }
func (s byEnd) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }
func (s *byEnd) Push(w any)        { *s = append(*s, w.(*tenure)) }
func (s *byEnd) Pop() any {
	last := len(*s) - 1
	w := (*s)[last]
	*s = (*s)[:last]
	return w
}
