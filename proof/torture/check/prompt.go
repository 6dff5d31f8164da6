package check

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// atOnce is how long a grant takes at most, after the end of what it waited for: a message and a request, on a machine that runs.
const atOnce = 100 * time.Millisecond

// checkPrompt looks for waiters in line that had their lock later than they could. What a waiter has waited for is everybody who
// may have been in its way and has ended before it had its lock: locks from their release on, or from when their lease must be
// over, and waiters from when they gave up. Whoever ended later was not in its way, since it has its lock: so what came behind it
// in line does not matter. From the last end on it may take atOnce, and for as long as any process stood still meanwhile, and the
// probe of the campaign, which stands for the servers.
//
// A dead waiter may have been granted its lock just before, and otherwise somebody finds it within a round: so it is in the way
// for the longer of the two. Who polls is left out, because its strategy says when it asks.
//
// A fault of the servers or of the network may lose messages of which nobody knows: what comes after the first one is left out.
func checkPrompt(h *history.History, b Bounds) (found []Finding, looked int) {
	r := newRound(h)
	at := map[string][]*hold{}
	for _, hold := range r.holds {
		o := hold.obtain
		if realm(o.Package) == history.Plain {
			for _, k := range slices.Concat(o.Write, o.Read) {
				at[k] = append(at[k], hold)
			}
		}
	}
	for _, waiter := range r.holds {
		if !waiter.wasServedInLine() || waiter.obtain.End >= r.outside {
			continue
		}
		since, last := r.waitedUntil(waiter, at, b)
		if last == nil || since == forever {
			continue
		}
		looked++
		limit := r.promptly(waiter.obtain, last)
		for process := range r.stalls {
			limit += r.stalled(process, span{since, waiter.obtain.End})
		}
		if waiter.obtain.End-since > limit {
			found = append(found, r.notPrompt(waiter.obtain, last, since, limit))
		}
	}
	return first(found), looked
}

// promptly is how long a grant takes at most after the end of another lock: a message and a request, and as long again as the Release
// took, because a server that is slow then is slow for the next request as well. A Client that asks the server itself, for its
// replicas or its uptime, sends one more request after the grant, and may wait for replicas; its Obtains are not local.
func (r *round) promptly(o, last *history.Operation) time.Duration {
	limit := atOnce
	if !o.Local && len(o.Write) > 0 {
		limit += atOnce
	}
	for _, op := range r.holdOf[id{last.Process, last.Op}].ops {
		if op.Action == history.Release && op.Returned {
			limit += op.End - op.At
		}
	}
	return limit
}

// wasServedInLine reports whether a lock, with a token of its own, was obtained in line.
func (h *hold) wasServedInLine() bool {
	o := h.obtain
	return o.Action == history.Obtain && o.Package == history.Plain && o.Token == "" && o.Way == history.Queue && h.waiting > 0 &&
		o.Returned && o.Outcome == history.OK
}

func (r *round) notPrompt(o, last *history.Operation, since, limit time.Duration) Finding {
	text := fmt.Sprintf("who can go next has the lock within %s, but obtain %d of process %d for %q and %q had it at %s, and nobody was in its way from %s on, when obtain %d of process %d was over",
		limit, o.Op, o.Process, o.Write, o.Read, o.End, since, last.Op, last.Process)
	show := []*history.Operation{o, last}
	return Finding{Promise: Prompt, Text: text, Events: r.show(append(show, r.holdOf[id{last.Process, last.Op}].ops...))}
}

// waitedUntil is from when on nobody was in the way of a waiter any more, and who was the last; nil if nobody was. It is forever
// where that cannot be said.
func (r *round) waitedUntil(waiter *hold, at map[string][]*hold, b Bounds) (since time.Duration, last *history.Operation) {
	o := waiter.obtain
	since = waiter.waiting
	look := func(key string, writes bool) {
		for _, x := range at[key] {
			if x == waiter || x.obtain.At >= o.End || !writes && !x.writes(key) {
				continue
			}
			if end := r.outOfTheWay(x, o, b); end > since {
				since, last = end, x.obtain
			}
		}
	}
	for _, k := range o.Write {
		look(k, true)
	}
	for _, k := range o.Read {
		look(k, false)
	}
	return since, last
}

// writes reports whether the lock may write the key at some time.
func (h *hold) writes(key string) bool { return slices.Contains(h.obtain.Write, key) || h.upgrades() }

// outOfTheWay is when what came of an obtain can have been in the way of another one no more, at the latest; 0 if it was not.
func (r *round) outOfTheWay(x *hold, o *history.Operation, b Bounds) time.Duration {
	a := x.obtain
	dead := r.dead(a.Process)
	switch {
	case a.Action != history.Obtain || a.Package != history.Plain || a.Token != "":
		return forever
	case a.Returned && a.Outcome != history.OK && a.End > o.End && a.End <= o.End+b.Late:
		return o.End // it may have left the line just then
	case a.Returned && a.End > o.End, !a.Returned && dead > o.End && r.ran(a.Process, o.End, b.Late):
		return 0 // it had nothing
	case a.Returned && a.Outcome == history.Refused:
		return a.End + b.Late
	case dead == forever:
		return x.gone()
	}
	ttl, kept := a.TTL, a.Kept
	for _, op := range x.ops {
		ttl, kept = max(ttl, op.TTL), max(kept, op.Kept)
	}
	end := dead + b.Late + max(longer(ttl), longer(kept))
	if !a.Returned {
		end = max(end, dead+b.Late+asksAgain)
	}
	return min(end, x.gone())
}
