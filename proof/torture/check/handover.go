package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// promptly is for how long a key may be free, after its release was confirmed, that somebody stands in line for. It is far less
// than the time after which a waiter asks by itself, and far more than a message takes.
const promptly = 2 * time.Second

// checkHandover looks for keys that nobody had, for too long, while somebody stood in line for nothing else. A release hands
// its keys over, so it looks from the confirmed release on, and allows Bounds.Late for each step and the time in which any
// process did not run. A key whose holder has died is free when its lease is over: somebody asks for it then, at the latest
// when a waiter asks by itself.
//
// Only waiters that want to write one key are looked at: those who want several may wait for the others. Whoever may have had
// the key counts as having it: from its call on, unless it stood in line for this key alone, or behind the waiter; then it may
// have had it only a moment before it has said so. A waiter that was killed has no place in line any more, but may have been
// granted the lock until then; not if somebody else is seen to have it afterwards.
//
// A fault of the servers or of the network may lose messages of which nobody knows: what comes after the first one is left out.
func checkHandover(h *history.History, b Bounds) (found []Finding, looked int) {
	r := newRound(h)
	at := map[string][]*hold{}
	for _, hold := range r.holds {
		for _, k := range slices.Concat(hold.obtain.Write, hold.obtain.Read) {
			at[k] = append(at[k], hold)
		}
	}
	for _, br := range r.breaks {
		for _, k := range br.Write {
			delete(at, k)
		}
	}
	for _, k := range sorted(at) {
		for _, waiter := range at[k] {
			if waiter.standsFor(k) && waiter.obtain.Returned {
				f, n := r.unused(k, waiter, at[k], b)
				found, looked = append(found, f...), looked+n
			}
		}
	}
	return first(found), looked
}

// standsFor reports whether all that an obtain wanted was to write the key, and it stood in line for that.
func (h *hold) standsFor(key string) bool {
	o := h.obtain
	return o.Action == history.Obtain && o.Package == history.Plain && o.Token == "" && o.Way == history.Queue && o.Kept == 0 &&
		len(o.Write) == 1 && len(o.Read) == 0 && o.Write[0] == key && h.waiting > 0
}

// A use is a time in which a key may have been taken.
type use struct {
	span
	freed *history.Operation // the release that ended it; nil if it ended by itself
	by    *hold
}

// unused looks at the times in which nobody had a key and the waiter stood in line for it.
func (r *round) unused(key string, waiter *hold, holds []*hold, b Bounds) (found []Finding, looked int) {
	from, to := waiter.waiting+b.Late, min(waiter.obtain.End-b.Late, r.outside)
	var uses []use
	for _, h := range holds {
		if h != waiter {
			uses = append(uses, r.useOf(h, key, holds, from, b))
		}
	}
	slices.SortFunc(uses, func(x, y use) int { return cmp.Compare(x.begin, y.begin) })
	last := use{span: span{0, from}} // what came before is not known
	for _, u := range append(uses, use{span: span{to, forever}}) {
		if gap := (span{last.end, min(u.begin, to)}); last.by != nil && gap.begin < gap.end {
			if limit := r.patience(last, gap, b); gap.end-gap.begin > limit {
				found = append(found, r.unusedFinding(key, waiter, last, gap, limit))
			}
		}
		if u.end <= last.end {
			continue
		}
		last = u
		if u.freed != nil && u.end < to {
			looked++
		}
	}
	return found, looked
}

// useOf is when an obtain, and what came of it, may have kept a waiter from the key that has stood in line since `from`.
func (r *round) useOf(h *hold, key string, holds []*hold, from time.Duration, b Bounds) use {
	o := h.obtain
	u := use{span: span{o.At, h.gone()}, by: h}
	alone := h.standsFor(key)
	if o.Returned && o.Action == history.Obtain && (alone || o.At > from) {
		u.begin = max(o.At, o.End-b.Late-r.stalled(o.Process, span{o.At, o.End}))
	}
	if dead := r.dead(o.Process); !o.Returned && o.Kept == 0 && o.Action == history.Obtain && o.Token == "" && dead < forever {
		u.end = dead + b.Late + longer(o.TTL)
		if alone {
			u.end = min(u.end, heldAfter(dead+b.Late, key, holds))
		} else {
			u.end += waiterLife
		}
	}
	for _, op := range h.ops {
		if op.Action == history.Release && op.Returned && op.End == u.end {
			u.freed = op
		}
	}
	return u
}

// heldAfter is the first moment from `at` on in which it is certain that somebody held the key for writing; forever if there is
// none.
func heldAfter(at time.Duration, key string, holds []*hold) time.Duration {
	first := forever
	for _, h := range holds {
		for _, w := range h.windows {
			if w.key == key && w.write && w.end > at && h.obtain.Package == history.Plain {
				first = min(first, max(at, w.begin))
			}
		}
	}
	return first
}

// patience is for how long the key may be free after a use.
func (r *round) patience(last use, gap span, b Bounds) time.Duration {
	limit := promptly
	if last.freed == nil {
		limit = asksAgain + 4*b.Late
	}
	for process := range r.stalls {
		limit += r.stalled(process, gap)
	}
	return limit
}

func (r *round) unusedFinding(key string, waiter *hold, last use, gap span, limit time.Duration) Finding {
	o := waiter.obtain
	text := fmt.Sprintf("who stands in line has a free key within %s, but nobody had %q from %s to %s, and obtain %d of process %d stood in line for it since %s",
		limit, key, gap.begin, gap.end, o.Op, o.Process, waiter.waiting)
	return Finding{Promise: Handover, Text: text, Events: r.show([]*history.Operation{last.by.obtain, last.freed, o})}
}

// isOfWorker reports whether a fault is done to a worker: it loses nothing of the other ones.
func isOfWorker(fault string) bool { return strings.HasPrefix(fault, "worker-") }
