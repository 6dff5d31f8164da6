package line

// An outcome is what becomes of a waiter that is looked at.
type outcome int8

const (
	waits   outcome = iota
	blocked         // the key is held
	given
	vanished // nobody hears it
)

// handOver lets waiters have the keys of the script, as lua/handover.lua does it; those in same are as they were.
func (x *script) handOver(same set) {
	for again := true; again; again = x.dropped {
		x.dropped, x.waiting = false, 0
		for k := range keys {
			if x.keys.has(k) && !x.written.has(k) && !same.has(k) {
				x.serve(k)
			}
		}
		same = 0
	}
	x.tellHeads()
}

// serve lets those at the front of a line have the key, as far as they can.
func (x *script) serve(k int) {
	readersOnly := false
	for at := int8(0); ; {
		p := x.next(k, at)
		if p < 0 {
			return
		}
		at = x.entries[p].place
		writes := x.m.wants[p].writes.has(k)
		if x.isDead(p) {
			x.drop(p, k)
			continue
		}
		if readersOnly && writes {
			return
		}
		switch x.admit(p, k) {
		case blocked:
			return
		case waits:
			readersOnly = true
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

// tellHeads tells the first of each line that needs it when to ask.
func (x *script) tellHeads() {
	for k := range keys {
		p := x.next(k, 0)
		if x.tell.has(k) && p >= 0 && !x.entries[p].ended && x.writer[k]|x.readers[k] != 0 && !x.m.long {
			x.send(p, head)
		}
	}
}

// send publishes to a waiter, which may hear it or not.
func (x *script) send(p int, what uint8) {
	if !x.deaf.has(p) && x.procs[p].phase == waiting {
		x.procs[p].mail |= what
	}
}
