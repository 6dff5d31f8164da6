package line

// An outcome is what becomes of a waiter that is looked at.
type outcome int8

const (
	waits   outcome = iota
	blocked         // the key is held
	given
	vanished // nobody hears it
)

// handOver lets waiters have the keys of the script, as lua/include/handover.lua does it; those in same are as they were.
func (x *script) handOver(same set) {
	for again := true; again; again = x.dropped {
		x.dropped, x.waiting = false, 0
		for _, k := range x.order {
			if !x.written.has(k) && !same.has(k) {
				x.serve(k)
			}
		}
		same = 0
		if !x.dropped {
			x.tellHeads()
		}
	}
}

// serve lets those at the front of a line have the key, as far as they can.
func (x *script) serve(k int) {
	readersOnly, first := false, true
	for at := int8(0); ; {
		p := x.next(k, at)
		if p < 0 {
			return
		}
		at = x.entries[p].place
		writes := x.m.wants[p].writes.has(k)
		if x.isDead(p) {
			x.drop(p, k, first)
			continue
		}
		if readersOnly && writes {
			return
		}
		switch x.admit(p, k) {
		case blocked:
			return
		case waits:
			readersOnly, first = true, false
			if writes {
				return
			}
		case given:
			if writes {
				return
			}
		case vanished:
			x.dropped = x.dropped || x.m.wants[p].keys() != key(k)
		}
	}
}

// admit lets a waiter met in the line of a key have its keys, or ask for them if they are not all at hand.
func (x *script) admit(p, k int) outcome {
	if x.waiting.has(p) {
		return waits
	}
	where, all := x.wanted(p, k)
	if x.m.without == wholeSet {
		all = true // as if what is at hand were all
	}
	for _, j := range x.m.wants[p].order() {
		if !where.has(j) {
			continue
		}
		refused := x.look(p, j)
		if refused || j != k && x.m.looksAt(p, j) && x.before(p, j, x.entries[p].place) >= 0 {
			if all {
				x.waiting |= one(p)
			}
			if refused && j == k {
				return blocked
			}
			return waits
		}
	}
	heard := x.woken.has(p) || !x.deaf.has(p)
	if heard && !x.woken.has(p) && !all {
		x.send(p, wake)
	}
	if heard && all {
		x.grant(p, k)
		return given
	}
	if heard || x.m.without == deadHeads {
		x.woken |= one(p)
		return waits
	}
	x.entries[p].lines &^= where
	x.tell |= where
	return vanished
}

// grant gives a waiter its locks, and tells it, and who is next.
func (x *script) grant(p, k int) {
	at := x.entries[p].place
	x.take(p)
	w := x.m.wants[p]
	x.tell |= w.keys()
	if w.writes == key(k) && w.reads == 0 {
		x.tell &^= key(k)
		q := x.next(k, at)
		switch {
		case x.m.long:
		case q < 0 || x.entries[q].ended:
			x.tell |= key(k)
		default:
			x.send(q, head)
		}
	}
	x.send(p, grant)
}

// tellHeads tells the first of each line that needs it when to ask. If that is not enough those behind are told as well.
func (x *script) tellHeads() {
	for _, k := range x.order {
		if !x.tell.has(k) || x.m.long || x.writer[k]|x.readers[k] == 0 {
			continue
		}
		first := true
		for p := x.next(k, 0); p >= 0; p = x.next(k, x.entries[p].place) {
			if x.isDead(p) {
				x.drop(p, k, first)
				continue
			}
			first = false
			if x.tellLease(p, k) {
				break
			}
		}
	}
}

// tellLease tells a waiter when to ask, and reports whether nobody else has to ask then: so it is if the waiter is not gone,
// and cannot go on waiting for another key while others read this one.
func (x *script) tellLease(p, k int) bool {
	x.send(p, head)
	w := x.m.wants[p]
	return !x.deaf.has(p) && (w.writes.has(k) || w.keys() == key(k))
}

// send publishes to a waiter, which may hear it or not.
func (x *script) send(p int, what uint8) {
	if !x.deaf.has(p) && x.procs[p].phase == waiting {
		x.procs[p].mail |= what
	}
}
