package check

import (
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// checkLosses looks at every lock whose holder is to be told of a loss: it was told no later than its deadline, it was told
// at all, and it was not told of a loss that nothing explains.
func checkLosses(h *history.History, b Bounds) (found []Finding, looked int) {
	r := newRound(h)
	renewals := map[history.Package]bool{} // whose renewals are written down
	for _, hold := range r.holds {
		for _, e := range hold.told {
			renewals[hold.obtain.Package] = renewals[hold.obtain.Package] || e.Kind == history.Renewal
		}
	}
	for _, hold := range r.holds {
		o := hold.obtain
		if o.Action == history.Lead {
			looked += r.checkTerm(hold, b, &found)
			continue
		}
		if o.Action != history.Obtain || !o.Returned || o.Outcome != history.OK {
			continue
		}
		lost := hold.lost()
		if lost == nil && !o.Watched {
			continue
		}
		looked++
		switch {
		case lost == nil:
			if !o.Renewed || renewals[o.Package] {
				r.checkSilence(hold, b, &found)
			}
		case !r.checkLate(hold, lost, b, &found):
			r.checkNeedless(hold, lost, b, &found)
		}
	}
	return first(found), looked
}

// lost is the event by which the holder was told; nil if there is none.
func (h *hold) lost() *history.Event {
	for i := range h.told {
		if h.told[i].Kind == history.Lost {
			return &h.told[i]
		}
	}
	return nil
}

// checkLate looks whether a loss was told later than at the deadline. A process that did not run then is told when it runs.
func (r *round) checkLate(h *hold, lost *history.Event, b Bounds, found *[]Finding) bool {
	until := lost.Until
	if until == 0 {
		return false
	}
	limit := r.allow(lost.Process, until, b.Late)
	if lost.At <= limit {
		return false
	}
	*found = append(*found, r.lossFinding(h, fmt.Sprintf("was told at %s, %s after its deadline", lost.At, lost.At-until), lost))
	return true
}

// checkSilence looks whether a lock that was watched has outlived its deadline and nobody was told.
func (r *round) checkSilence(h *hold, b Bounds, found *[]Finding) {
	until := h.lastUntil()
	if until == 0 {
		return
	}
	process, ended := h.id.process, forever
	for _, o := range h.ops {
		switch o.Action {
		case history.Release, history.Leave:
			ended = min(ended, o.At)
		case history.ReleaseKeys: // it may have been all that was left
			if o.Returned && o.Outcome == history.NotHeld || len(o.Write)+len(o.Read) >= len(h.obtain.Write)+len(h.obtain.Read) {
				ended = min(ended, o.At)
			}
		case history.Refresh, history.Upgrade, history.Downgrade:
			until = max(until, h.mayEnd(o))
		}
		if o.Returned && o.Outcome == history.NotHeld {
			ended = min(ended, o.At) // it knows
		}
	}
	limit := r.allow(process, until, b.Late)
	if ended <= limit || !r.ran(process, limit, b.Late) {
		return
	}
	*found = append(*found, r.lossFinding(h, fmt.Sprintf("was not told by %s, %s after its deadline", limit, limit-until)))
}

// mayEnd is when the lease may end that an operation without a good answer has begun. Its answer may come, and count, later.
func (h *hold) mayEnd(o *history.Operation) time.Duration {
	switch {
	case !o.Returned:
		return forever / 2
	case o.Outcome == history.Unknown, o.Outcome == history.Failed:
		return o.End + max(o.TTL, h.obtain.TTL) + h.obtain.TTL
	}
	return o.Until
}

// checkNeedless looks whether a loss was told long before the deadline, and nothing can have caused it.
func (r *round) checkNeedless(h *hold, lost *history.Event, b Bounds, found *[]Finding) {
	o := h.obtain
	early := min(o.TTL/20, 100*time.Millisecond) + b.Late
	if lost.Until == 0 || lost.At >= lost.Until-early || r.disturbed(span{o.At, lost.At}, b.Progress) {
		return
	}
	for _, br := range r.breaks {
		if _, ok := common(br, o); ok && executed(br).overlaps(span{o.At, lost.At + 1}) {
			return
		}
	}
	if o.Token != "" || o.Package == history.Reentrant && o.Owner != "" {
		return // others may have ended it
	}
	if left, ok := r.left[h.id.process]; ok && !r.callsAfter(h.id.process, lost.At) && left >= lost.At {
		return // its Client was closed
	}
	*found = append(*found, r.lossFinding(h, fmt.Sprintf("was told at %s, %s before its deadline, although nothing had ended it",
		lost.At, lost.Until-lost.At), lost))
}

// callsAfter reports whether a process has begun an operation after that moment.
func (r *round) callsAfter(process int, at time.Duration) bool {
	for i := len(r.ops) - 1; i >= 0 && r.ops[i].At > at; i-- {
		if r.ops[i].Process == process {
			return true
		}
	}
	return false
}

// checkTerm looks whether a leader knew that it was over no later than its deadline: by the end of its context, or because its work
// had ended. It returns how many terms it has looked at.
func (r *round) checkTerm(h *hold, b Bounds, found *[]Finding) int {
	o := h.obtain
	until := h.lastUntil()
	if !o.Returned || until == 0 {
		return 0
	}
	knew := o.End
	if lost := h.lost(); lost != nil {
		knew = min(knew, lost.At)
	}
	if limit := r.allow(h.id.process, until, b.Late); knew > limit {
		*found = append(*found, r.lossFinding(h, fmt.Sprintf("led until %s, %s after its deadline", knew, knew-until)))
	}
	return 1
}

func (r *round) lossFinding(h *hold, what string, beside ...*history.Event) Finding {
	text := fmt.Sprintf("a holder is told of a loss no later than its deadline, and of no other, but that of lock %s (%q, %q) %s",
		h.id, h.obtain.Write, h.obtain.Read, what)
	var events []history.Event
	for _, e := range beside {
		events = append(events, *e)
	}
	ops := append([]*history.Operation{h.obtain}, h.ops...)
	return Finding{Promise: Losses, Text: text, Events: r.show(ops, events...)}
}
