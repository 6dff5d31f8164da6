package server

import (
	"math"

	"github.com/seed-14de3678/redislock/internal/proto/decode"
)

// again keeps waiters of one Client in their lines, and tells which of them have to ask by themselves. It grants nothing,
// and never makes an entry.
func (r *run) again(q Round) turns {
	r.set = q.Set
	t, kept := turns{micros: r.Micros}, map[int]bool{}
	for k, w := range q.Waiters {
		if ms, asks := r.confirm(w, kept); asks {
			t.asks = append(t.asks, turn{k + 1, ms})
		}
	}
	return t
}

// confirm looks after one waiter, and returns when it has to ask by itself, if it does. It does at once if it does not stand in each of
// its lines, if nobody hears it, or if nothing is in its way any more; and as the first when the lease before it is over.
func (r *run) confirm(w decode.Waiter, kept map[int]bool) (ms int64, asks bool) {
	stands, free := true, true
	for k, i := range w.Keys {
		e, ok := r.only(i, w)
		if !ok {
			stands = false
			continue
		}
		r.extend(i, e, kept)
		if k == 0 && r.publish(e.Sharded, e.Channel, "") == 0 {
			stands = false
		}
		if !free {
			continue
		}
		held, left := r.isHeld(i, e)
		switch {
		case held:
			free = false
			first := nameBefore(r.line(i)[0].Text) == w.ID
			if asks = first && left != forEver && left < asksAgain; asks {
				ms = max(left, 0)
			}
		case e.Mode == Read:
			free = !r.isBehindWriter(i, e)
		default:
			free = !r.isBehindAnybody(i, e)
		}
	}
	if free || !stands {
		return 0, true
	}
	return ms, asks
}

// nameBefore is what stands in an entry before the first '|': the id.
func nameBefore(text string) string { return Value(text).Token() }

// only finds the entry of a waiter, if it stands at its place alone.
func (r *run) only(i int, w decode.Waiter) (e Entry, ok bool) {
	n := 0
	for _, m := range r.line(i) {
		if m.Score == float64(w.Place.Number()) {
			n++
			e = EntryOf(m)
		}
	}
	return e, n == 1 && e.ID == w.ID
}

// extend has an entry count as alive for longer, and its line live for as long.
func (r *run) extend(i int, e Entry, kept map[int]bool) {
	line := r.set[i].Line
	if !kept[i] && float64(r.left(line, r.now)) < 1.5*waiterLife {
		r.ends(line, r.now+2*waiterLife, r.now)
	}
	kept[i] = true
	if text := e.aliveUntil(r.now + waiterLife); text != e.Text {
		r.Add(line, text, e.Place)
		r.quit(i, e.Text)
	}
}

// isHeld reports whether somebody holds the i-th key who is in the way of a waiter, and for how long still.
func (r *run) isHeld(i int, e Entry) (held bool, left int64) {
	key := r.set[i].Key
	left = r.left(key, r.now)
	if v, ok := r.value(key); ok {
		return v.Token() != e.Value.Token(), left
	}
	switch kind := r.kind(key); {
	case kind != Sorted:
		return kind != None, left
	case e.Mode == Read:
		return false, left
	}
	readers, mine := r.members(key), false
	for k := len(readers) - 1; k >= max(0, len(readers)-2); k-- {
		m := readers[k]
		if r.isRunning(m) && Value(m.Text).Token() != e.Value.Token() {
			return true, r.restOf(m)
		}
		mine = mine || r.isRunning(m)
	}
	return !mine, left
}

// isBefore reports whether an entry is that of a waiter which lives, and which another token has to let go first.
func (r *run) isBefore(other Entry, e Entry) bool {
	return other.Till > r.now && other.Value.Token() != e.Value.Token() && r.publish(other.Sharded, other.Channel, "") != 0
}

// isBehindAnybody reports whether somebody waits right before a writer. Who stands before that one is a matter of that one.
func (r *run) isBehindAnybody(i int, e Entry) bool {
	place, before := math.Inf(-1), Entry{}
	for _, m := range r.line(i) {
		if m.Score < e.Place && m.Score >= place {
			place, before = m.Score, EntryOf(m)
		}
	}
	return r.isBefore(before, e)
}

// isBehindWriter reports whether a writer waits before a reader, whoever stands between them. A front of many readers is not
// looked through: then the waiter asks.
func (r *run) isBehindWriter(i int, e Entry) bool {
	line := r.line(i)
	for _, m := range line[:min(mostFront, len(line))] {
		if first := EntryOf(m); first.Mode != Read {
			return first.Place < e.Place && r.isBefore(first, e)
		}
	}
	return false
}
