package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A hold is what came of one obtain: the windows in which its keys were certain, as its process has written down.
type hold struct {
	id      id
	obtain  *history.Operation
	ops     []*history.Operation // about the lock, in the order of their calls
	told    []history.Event      // renewals and losses
	waiting time.Duration        // since when it waits; 0: it does not, or not that anybody knows
	windows []*tenure            // in the order in which they begin
	kept    []*tenure            // of keys that were left

	keys    map[string]*tenure                   // the window of each key that has not ended
	until   time.Duration                        // when the lease ends, at the earliest
	ttl     time.Duration                        // the shortest that was asked for
	pending int                                  // operations that may change the lease
	over    bool                                 // no window begins any more
	asked   map[*history.Operation]time.Duration // the deadline, at the earliest, when an operation was called
}

// A tenure is a time for which a key was certain to be held, or to be kept.
type tenure struct {
	span
	hold  *hold
	key   string
	write bool
	kept  bool // by nobody, after its lock
}

func (w *tenure) String() string {
	mode := "reads"
	if w.write {
		mode = "writes"
	}
	if w.kept {
		return fmt.Sprintf("lock %s keeps %q taken from %s to %s", w.hold.id, w.key, w.begin, w.end)
	}
	return fmt.Sprintf("lock %s %s %q from %s to %s", w.hold.id, mode, w.key, w.begin, w.end)
}

func (i id) String() string { return fmt.Sprintf("%d of process %d", i.op, i.process) }

// follow makes the windows of all holds.
func (r *round) follow() {
	for i := range r.events {
		e := &r.events[i]
		this := id{e.Process, e.Op}
		switch e.Kind {
		case history.Waiting:
			if h := r.holdOf[this]; h != nil && h.waiting == 0 {
				h.waiting = e.At
			}
		case history.Call, history.Return:
			if o := r.byID[this]; o != nil {
				r.step(o, e)
			}
		case history.Renewal, history.Lost:
			if h := r.holdOf[id{e.Process, e.Lock}]; h != nil {
				h.tell(*e)
			}
		}
	}
	for _, h := range r.holds {
		h.close(forever)
	}
	r.cutBroken()
	r.cutShared()
}

// step takes in the beginning or the end of an operation.
func (r *round) step(o *history.Operation, e *history.Event) {
	if h := r.holdOf[id{o.Process, o.Op}]; h != nil {
		switch {
		case o.Action == history.Lead:
			h.leads(e)
		case o.Action == history.Obtain && e.Kind == history.Return && e.Outcome == history.OK:
			h.begin(e)
		}
		return
	}
	h := r.holdOf[id{o.Process, o.Lock}]
	if o.Lock == 0 || h == nil {
		return
	}
	if e.Kind == history.Call {
		h.ops = append(h.ops, o)
		h.called(o)
		return
	}
	h.returned(o)
}

// begin begins the windows of a lock that was obtained.
func (h *hold) begin(e *history.Event) {
	o := h.obtain
	h.keys, h.until, h.ttl = map[string]*tenure{}, e.Until, o.TTL
	for _, k := range o.Read {
		h.open(k, false, e.At)
	}
	for _, k := range o.Write { // a key in both lists is written
		h.open(k, true, e.At)
	}
}

// leads begins and ends the window of a leader. It is told by Until how long it leads, if it has said so.
func (h *hold) leads(e *history.Event) {
	if e.Kind == history.Call {
		h.keys, h.until = map[string]*tenure{}, e.Until
		for _, k := range h.obtain.Write {
			h.open(k, true, e.At)
		}
		return
	}
	h.until = max(h.until, e.Until)
	h.close(e.At)
	h.over = true
}

func (h *hold) open(key string, write bool, at time.Duration) {
	h.keys[key] = &tenure{span: span{at, forever}, hold: h, key: key, write: write}
}

// close ends all windows, and forgets their keys.
func (h *hold) close(at time.Duration) {
	for _, k := range sorted(h.keys) {
		h.closeKey(k, at)
	}
}

func (h *hold) closeKey(key string, at time.Duration) {
	w := h.keys[key]
	if w == nil {
		return
	}
	delete(h.keys, key)
	w.end = min(at, h.until)
	if w.begin < w.end {
		h.windows = append(h.windows, w)
	}
}

// extend takes in that the lease ends then. If the last one had ended meanwhile new windows begin.
func (h *hold) extend(at, until time.Duration) {
	if until == 0 || h.over {
		return
	}
	if at > h.until {
		h.renew(at, func(w *tenure) bool { return w.write })
	}
	h.until = until
}

// renew ends all windows and begins new ones, in the modes that it is told.
func (h *hold) renew(at time.Duration, writes func(*tenure) bool) {
	for _, k := range sorted(h.keys) {
		w := h.keys[k]
		h.closeKey(k, at)
		h.open(k, writes(w), at)
	}
}

// lower takes in that from now on the lease may be one of ttl.
func (h *hold) lower(at, ttl time.Duration) {
	h.until = min(h.until, at+window(ttl))
}

// called takes in what may be so as soon as an operation has begun.
func (h *hold) called(o *history.Operation) {
	if h.over {
		return
	}
	defer h.note(o)
	switch o.Action {
	case history.Refresh, history.Upgrade, history.Downgrade:
		if o.Action == history.Refresh {
			h.ttl = min(h.ttl, o.TTL)
		}
		h.pending++
		h.lower(o.At, h.ttl)
		if o.Action == history.Downgrade {
			h.renew(o.At, func(*tenure) bool { return false })
		}
	case history.ReleaseKeys:
		for _, k := range slices.Concat(o.Write, o.Read) {
			h.closeKey(k, o.At)
		}
	case history.Release, history.Leave:
		h.leave(o)
		h.close(o.At)
		h.over = true
	}
	if o.Returned && o.Outcome == history.NotHeld { // it may have been lost before it was asked
		h.close(o.At)
		h.over = true
	}
}

// note takes note of the deadline that counts while an operation is under way.
func (h *hold) note(o *history.Operation) {
	if h.asked == nil {
		h.asked = map[*history.Operation]time.Duration{}
	}
	h.asked[o] = h.until
}

// returned takes in the end of an operation on the lease.
func (h *hold) returned(o *history.Operation) {
	switch o.Action {
	case history.Refresh, history.Upgrade, history.Downgrade:
	default:
		return
	}
	h.pending--
	if h.over {
		return
	}
	if o.Outcome == history.OK && o.Action == history.Refresh {
		h.ttl = o.TTL
	}
	h.extend(o.End, o.Until)
	if o.Outcome == history.OK && o.Action == history.Upgrade {
		h.renew(o.End, func(*tenure) bool { return true })
	}
}

// tell takes in what the library has said by itself.
func (h *hold) tell(e history.Event) {
	h.told = append(h.told, e)
	if h.over {
		return
	}
	switch {
	case e.Kind == history.Lost:
		h.close(e.At)
		h.over = true
	case h.pending == 0:
		h.extend(e.At, e.Until)
	}
}

// leave makes the windows of keys that stay taken when the lock has ended: from then until the time is over for which
// they were to be kept, less what clocks may differ by.
func (h *hold) leave(o *history.Operation) {
	if o.Outcome != history.OK || h.obtain.Package == history.Reentrant {
		return
	}
	end := h.obtain.At + window(h.obtain.Kept)
	if o.Action == history.Leave {
		end = max(end, o.At+window(o.Kept))
	}
	for _, k := range sorted(h.keys) {
		if o.At < end {
			h.kept = append(h.kept, &tenure{span: span{o.At, end}, hold: h, key: k, write: h.keys[k].write, kept: true})
		}
	}
}
