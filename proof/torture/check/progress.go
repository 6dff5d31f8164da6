package check

import (
	"fmt"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// checkProgress looks for operations that were under way when all faults were over, or began later, and had no Return in
// time: within Bounds.Progress, or so long after the time for which the caller wanted to wait. A process that was killed
// answers nothing any more, and one that was stopped later has so much more time. A leader leads for as long as it likes.
func checkProgress(h *history.History, b Bounds) (found []Finding, looked int) {
	r := newRound(h)
	if r.settled == forever {
		return nil, 0
	}
	for i := range r.ops {
		o := &r.ops[i]
		if o.Action == history.Lead || o.Returned && o.End < r.settled {
			continue
		}
		from := max(o.At, r.settled)
		limit := max(from+b.Progress, o.At+o.Wait+b.Late)
		limit += r.stalled(o.Process, span{from, limit})
		switch {
		case o.End <= limit:
			looked++
		case min(r.dead(o.Process), r.end) > limit:
			looked++
			found = append(found, r.stuck(o, b))
		}
	}
	return first(found), looked
}

func (r *round) stuck(o *history.Operation, b Bounds) Finding {
	what := "has no answer at all"
	if o.Returned {
		what = fmt.Sprintf("was answered after %s", o.End-max(o.At, r.settled))
	}
	text := fmt.Sprintf("after the last fault everybody has an answer within %s, but %s %d of process %d for %q and %q, called at %s, %s",
		b.Progress, o.Action, o.Op, o.Process, o.Write, o.Read, o.At, what)
	return Finding{Promise: Progress, Text: text, Events: r.show([]*history.Operation{o})}
}
