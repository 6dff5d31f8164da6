package check

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// executed is when an operation may have been executed: until its Return if that says what became of it, else at any time.
func executed(o *history.Operation) span {
	if o.Returned && (o.Outcome == history.OK || o.Outcome == history.Refused || o.Outcome == history.NotHeld) {
		return span{o.At, o.End}
	}
	return span{o.At, forever}
}

// cut ends the windows of keys that something has ended, or may have, at some time within the span. A window begins with
// a Return, so what it is about may have been so since the Call of its obtain.
func cut(windows []*tenure, by span, is func(*tenure) bool) {
	for _, w := range windows {
		if by.begin < w.end && w.hold.obtain.At <= by.end && is(w) {
			w.end = max(w.begin, by.begin)
		}
	}
}

// cutBroken ends windows where their key may have been broken.
func (r *round) cutBroken() {
	if len(r.breaks) == 0 {
		return
	}
	of := map[string][]*tenure{}
	for _, h := range r.holds {
		for _, w := range slices.Concat(h.windows, h.kept) {
			of[w.key] = append(of[w.key], w)
		}
	}
	for _, b := range r.breaks {
		for _, k := range b.Write {
			cut(of[k], executed(b), func(*tenure) bool { return true })
		}
	}
	r.dropEmpty()
}

// cutShared ends windows of locks with a token of the caller's own where another lock with the token may have ended or
// shortened what they share.
func (r *round) cutShared() {
	of := map[string][]*hold{}
	for _, h := range r.holds {
		if h.obtain.Token != "" {
			of[h.obtain.Token] = append(of[h.obtain.Token], h)
		}
	}
	for _, holds := range of {
		for _, h := range holds {
			for _, other := range holds {
				if other != h {
					cutByMate(h.windows, other)
					lowerByMate(h.kept, other)
				}
			}
		}
	}
	r.dropEmpty()
}

func cutByMate(windows []*tenure, mate *hold) {
	if o := mate.obtain; o.Action == history.Obtain && (!o.Returned || o.Outcome != history.OK || len(o.Read) > 0) {
		by := executed(o)
		if o.Outcome != history.OK {
			by.end = forever // what it may have locked is given back at some time
		}
		cut(windows, by, func(*tenure) bool { return true })
	}
	for _, o := range mate.ops {
		cut(windows, executed(o), func(*tenure) bool { return true })
	}
}

// lowerByMate takes note that keys which a lock has left may have been read by then, and not written, because of another
// lock with its token.
func lowerByMate(kept []*tenure, mate *hold) {
	lowers := len(mate.obtain.Read) > 0 || slices.ContainsFunc(mate.ops, func(o *history.Operation) bool {
		return o.Action == history.Downgrade
	})
	for _, w := range kept {
		w.write = w.write && !lowers
	}
}

func (r *round) dropEmpty() {
	isEmpty := func(w *tenure) bool { return w.begin >= w.end }
	for _, h := range r.holds {
		h.windows = slices.DeleteFunc(h.windows, isEmpty)
		h.kept = slices.DeleteFunc(h.kept, isEmpty)
	}
}

// lastUntil is the latest moment at which the lease of a hold can end, as far as its process knew.
func (h *hold) lastUntil() time.Duration {
	last := h.obtain.Until
	for _, e := range h.told {
		last = max(last, e.Until)
	}
	for _, o := range h.ops {
		switch o.Action {
		case history.Refresh, history.Upgrade, history.Downgrade:
			last = max(last, o.Until)
		}
	}
	return last
}
