package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// checkAnswers looks for answers that docs/errors.md does not allow: an error that only a fault explains, where there was none;
// an operation that says that a lock is not held, where nothing can have ended it; and a refusal where nobody can have been in
// the way. The keys of a round have to be its own: what others did with them before stands in another history.
func checkAnswers(h *history.History, b Bounds) (found []Finding, looked int) {
	r := newRound(h)
	blockers := r.blockers()
	for i := range r.ops {
		o := &r.ops[i]
		if !o.Returned {
			continue
		}
		looked++
		why := ""
		switch o.Outcome {
		case history.Failed:
			why = r.failedFor(o, b)
		case history.NotHeld:
			why = r.notHeldFor(o, b)
		case history.Refused:
			why = r.refusedFor(o, blockers, b)
		}
		if why != "" {
			text := fmt.Sprintf("one error for one fact, but %s %d of process %d for %q and %q, called at %s, %s", o.Action, o.Op,
				o.Process, o.Write, o.Read, o.At, why)
			show := []*history.Operation{o}
			if hold := r.holdOf[id{o.Process, o.Lock}]; hold != nil {
				show = append(append(show, hold.obtain), hold.ops...)
			}
			found = append(found, Finding{Promise: Answers, Text: text, Events: r.show(show)})
		}
	}
	return first(found), looked
}

// failedFor says what is wrong with an error that may be any; "" if nothing is. A slow machine, and a caller that has had
// enough, explain some.
func (r *round) failedFor(o *history.Operation, b Bounds) string {
	if r.disturbed(span{o.At, o.End}, b.Progress) {
		return ""
	}
	for _, is := range []string{"Cause", "Canceled", "DeadlineExceeded", "ErrNotObtained", "ErrNotReplicated"} {
		if slices.Contains(o.Is, is) {
			return ""
		}
	}
	for _, slow := range []string{"timeout", "timed out", "context", "no answer yet", "not answered in time"} {
		if strings.Contains(strings.ToLower(o.Error), slow) {
			return ""
		}
	}
	if o.Package == history.Reentrant && o.Fenced && slices.Contains(o.Is, "ErrUnsupported") {
		return "" // this owner holds a key without a number
	}
	if slices.Contains(o.Is, "ErrClosed") && r.left[o.Process] != 0 && !r.callsAfter(o.Process, o.End) {
		return ""
	}
	return fmt.Sprintf("has failed, and no fault explains it: %s", o.Error)
}

// notHeldFor says so if a lock cannot have been lost; "" if it can, or was told to be lost, or released, before.
func (r *round) notHeldFor(o *history.Operation, b Bounds) string {
	h := r.holdOf[id{o.Process, o.Lock}]
	if h == nil || h.obtain.Action != history.Obtain || h.obtain.Token != "" || h.obtain.Package == history.Reentrant {
		return ""
	}
	until, life := h.asked[o]-h.early(), span{h.obtain.At, o.End}
	if o.End >= until || r.disturbed(life, b.Progress) || r.mayBeBroken(h.obtain, life) || h.endedBefore(o) {
		return ""
	}
	return fmt.Sprintf("says at %s that lock %s is not held, whose deadline is %s, although nothing had ended it", o.End, h.id, until)
}

// early is for how long before its deadline a lock that is watched may be lost already. Who asks then may hear of it sooner than
// those who are told.
func (h *hold) early() time.Duration {
	if !h.obtain.Watched && !h.obtain.Renewed {
		return 0
	}
	ttl := h.obtain.TTL
	for _, o := range h.ops {
		ttl = max(ttl, o.TTL)
	}
	return min(ttl/20, 100*time.Millisecond) + time.Millisecond
}

// endedBefore reports whether the lock was released or lost, as far as its process knew, before the operation had ended. A
// release of some keys may have been one of all.
func (h *hold) endedBefore(o *history.Operation) bool {
	for _, e := range h.told {
		if e.Kind == history.Lost && e.At <= o.End {
			return true
		}
	}
	for _, other := range h.ops {
		if other == o || other.At > o.End {
			continue
		}
		switch other.Action {
		case history.Release, history.Leave, history.ReleaseKeys:
			return true
		}
	}
	return false
}

// refusedFor says so if nobody can have been in the way of an obtain; "" if somebody can.
func (r *round) refusedFor(o *history.Operation, blockers map[string]*blocking, b Bounds) string {
	switch {
	case o.Action != history.Obtain, o.Package == history.Quorum, o.Package == history.Reentrant, o.Held == "restarted", o.Held == "foreign":
		return "" // a quorum may split its votes; what is in the way of an owner may be other keys
	case slices.Contains(o.Is, "ErrNotReplicated"), r.disturbed(span{o.At, o.End}, b.Progress):
		return ""
	case o.Way != history.Once && (o.TTL <= 4*b.Late || r.stalled(o.Process, span{o.At, o.End}) > 0):
		return "" // an answer may have been too late
	case o.Way == history.Once && o.End-o.At >= o.TTL/2:
		return ""
	}
	s := span{o.At, o.End}
	if o.Way == history.Queue {
		s.begin = max(s.begin, o.End-asksAgain-2*b.Late)
	}
	write, read := o.Write, o.Read
	if o.Way == history.Once && o.InWay != "" {
		named := func(k string) bool { return k != o.InWay }
		write, read = slices.DeleteFunc(slices.Clone(write), named), slices.DeleteFunc(slices.Clone(read), named)
	}
	for _, k := range write {
		if blockers[k].anybody(s, o, false) {
			return ""
		}
	}
	for _, k := range read {
		if blockers[k].anybody(s, o, true) {
			return ""
		}
	}
	return fmt.Sprintf("was refused at %s (%s), and nobody can have held or wanted a key of it since %s", o.End, o.Error, s.begin)
}

// asksAgain is how often a waiter in line asks, whatever it hears or does not.
const asksAgain = 5 * time.Second
