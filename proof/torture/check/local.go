package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// This file is what checkers know of the lines inside a process. Obtains of one Client that queue for the same set stand behind
// one another there, and the first of them alone stands in Redis. So a waiter behind others stands nowhere in Redis. The order
// among all processes is that of arrival all the same, and who gives its place up is followed at once, so the promises of those
// who wait are not weaker. What is weaker is the promise to others where holds are passed on: one PassOn for each turn.

// behindOneAnother reports whether two obtains stand in the same line inside their process.
func behindOneAnother(a, b *history.Operation) bool {
	return a.Local && b.Local && a.Process == b.Process && a.Fenced == b.Fenced && slices.Equal(a.Write, b.Write) &&
		slices.Equal(a.Read, b.Read)
}

// lateFor is how much later than a waiter another one has to be called to be certainly behind it. In one line it is certain at
// once. But while requests are slow, those in a line ask by themselves, and a request says how long its waiter had waited when it
// was sent, not when it was executed.
func (r *round) lateFor(waiter, later *history.Operation, b Bounds) time.Duration {
	slowed := time.Duration(0)
	if waiter.Local {
		slowed = r.slowed(span{waiter.At, later.End})
	}
	if slowed == 0 && behindOneAnother(waiter, later) {
		return min(b.Late, atOnce)
	}
	return b.Late + slowed
}

// passed follows a hold that was passed on back to the lock that was obtained from Redis. wrong says why it cannot have been passed
// on; it is empty if it can.
func (r *round) passed(h *hold) (root *hold, wrong string) {
	root = h
	for root.obtain.Came == history.Passed {
		o := root.obtain
		if o.PassOn <= 0 {
			return root, "it did not ask for that"
		}
		before := r.predecessor(root)
		switch {
		case before == nil:
			return root, "no other lock of its process had the same set just before"
		case before.obtain.PassOn != o.PassOn || before.obtain.TTL != o.TTL || before.obtain.Renewed != o.Renewed:
			return root, fmt.Sprintf("obtain %d, which had it before, has asked for something else", before.obtain.Op)
		}
		root = before
	}
	if before := r.predecessor(h); root != h {
		if at, end := before.releasedAt(), root.obtain.End+h.obtain.PassOn; at > end {
			return root, fmt.Sprintf("it was obtained at %s by obtain %d and may be passed on for %s, but was so at %s or later",
				root.obtain.End, root.obtain.Op, h.obtain.PassOn, at)
		}
	}
	return root, ""
}

// predecessor is the lock of the same process that had the set of a lock before it; nil if none is known to have had it.
func (r *round) predecessor(h *hold) (before *hold) {
	for _, other := range r.locals[h.obtain.Process] {
		o := other.obtain
		if other == h || o.End >= h.obtain.End || !behindOneAnother(o, h.obtain) || other.releasedAt() > h.obtain.End {
			continue
		}
		if before == nil || o.End > before.obtain.End {
			before = other
		}
	}
	return before
}

// releasedAt is when a lock was released; forever if it was not.
func (h *hold) releasedAt() time.Duration {
	for _, op := range h.ops {
		if op.Action == history.Release {
			return op.At
		}
	}
	return forever
}

// checkPassed looks at all holds that were passed on: whether they may have been, and whether half of the lease was left.
func (r *round) checkPassed(b Bounds) (found []Finding) {
	for _, process := range sorted(r.locals) {
		for _, h := range r.locals[process] {
			o := h.obtain
			if o.Came != history.Passed {
				continue
			}
			root, wrong := r.passed(h)
			if late := b.Late + r.stalled(process, span{o.At, o.End}); wrong == "" && o.Until-o.End < o.TTL/2-late {
				wrong = fmt.Sprintf("%s of %s was left", o.Until-o.End, o.TTL)
			}
			if wrong == "" {
				continue
			}
			text := fmt.Sprintf("a hold is passed on to the next that asks for the same, for so long as PassOn says, but that of obtain %d of process %d for %q was not: %s",
				o.Op, process, o.Write, wrong)
			found = append(found, Finding{Promise: Order, Text: text, Events: r.show([]*history.Operation{root.obtain, o})})
		}
	}
	return found
}

// mayPass reports whether one that came later may have had its lock before a waiter because a hold was passed on to it. It may not
// where the waiter stands in the same line, and where the turn itself was out of order, which is a finding of its own.
func (r *round) mayPass(waiter, later *hold) bool {
	if later.obtain.Came != history.Passed || behindOneAnother(waiter.obtain, later.obtain) {
		return false
	}
	_, wrong := r.passed(later)
	return wrong == ""
}
