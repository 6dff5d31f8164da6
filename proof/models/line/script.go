package line

// A call is one run of a script.
type call struct {
	does doing
	p    int8
	back bool // of one that asks: the server's clock has been set back
}

// A doing is what a process has a script do.
type doing int8

const (
	asks     doing = iota // rw.lua, for a waiter
	releases              // release.lua, for one that holds the lock
	givesUp               // release.lua, for a waiter
	round                 // lua/again.lua
)

// A script is one run of rw.lua, release.lua or lua/again.lua, with what it has found out on its way.
type script struct {
	*state
	m     *program
	keys  set
	order []int // of the keys

	written set   // keys that it has given to writers
	looked  crowd // whose sets it has looked for
	whole   crowd // those of them whose sets it has found
	dropped bool  // somebody was dropped
	tell    set   // lines, whose first waiters have to be told that they are
	waiting crowd // who goes on waiting
	woken   crowd // who was told to ask
}

func (m *program) script(s *state, p int) *script {
	return &script{state: s, m: m, keys: m.wants[p].keys(), order: m.wants[p].order()}
}

// begins shows that a script is about to be executed.
func (x *script) begins(c call) {
	if x.m.ran != nil {
		x.m.ran(x.m, *x.state, c)
	}
}

// first is the first key of the set of a waiter, where the names of all are.
func (w want) first() int {
	of := w.writes
	if of == 0 {
		of = w.reads
	}
	k := 0
	for !of.has(k) {
		k++
	}
	return k
}

// look reports whether somebody else holds a key that p wants.
func (x *script) look(p, k int) bool {
	others := x.writer[k] &^ one(p)
	if x.m.wants[p].writes.has(k) {
		others |= x.readers[k] &^ one(p)
	}
	return others != 0
}

// wanted is which keys of a waiter, met in the line of a key, the script can find. It looks for them once.
func (x *script) wanted(p, k int) (where set, all bool) {
	w := x.m.wants[p]
	if w.keys() == key(k) {
		return key(k), true
	}
	if !x.looked.has(p) {
		x.looked |= one(p)
		if w.keys()&^x.keys == 0 && x.entries[p].lines.has(w.first()) {
			x.whole |= one(p)
		}
	}
	if !x.whole.has(p) {
		return key(k), false
	}
	return w.keys(), true
}

// drop takes out a waiter that is dead or gone, met in the line of a key. If it stood first there, or may have, whoever is
// first now has to be told.
func (x *script) drop(p, k int, first bool) {
	where, _ := x.wanted(p, k)
	x.entries[p].lines &^= where
	if !first {
		where &^= key(k)
	}
	x.tell |= where
	x.dropped = true
}

// before is the waiter for a key that p has to let go first; -1 if there is none before the place of p, which is 0 if it has none.
func (x *script) before(p, k int, place int8) int {
	first := true
	for at := int8(0); ; {
		q := x.next(k, at)
		if q < 0 {
			return -1
		}
		at = x.entries[q].place
		if x.isDead(q) {
			x.drop(q, k, first)
			continue
		}
		if place > 0 && at >= place {
			return -1
		}
		if q == p || x.m.wants[p].reads.has(k) && x.m.wants[q].reads.has(k) {
			first = false
			continue
		}
		if !x.deaf.has(q) || x.m.without == deadHeads {
			return q
		}
		x.drop(q, k, true)
	}
}

// isDead reports whether a waiter has been silent for too long.
func (x *script) isDead(p int) bool { return x.entries[p].ended && x.m.without != deadHeads }

// ask is rw.lua for a waiter; back: the server's clock has been set back.
func (x *script) ask(p int, back bool) asking {
	x.begins(call{does: asks, p: int8(p), back: back})
	e, w := &x.entries[p], x.m.wants[p]
	refused, byWaiter := -1, false
	for _, k := range w.order() {
		if x.look(p, k) {
			refused = k
		} else if !x.has(p, k) && x.m.looksAt(p, k) && x.before(p, k, e.place) >= 0 {
			refused, byWaiter = k, true
		}
		if refused >= 0 {
			break
		}
	}
	if refused < 0 {
		stood := e.place > 0 // or it was dropped meanwhile, and has its place still
		x.take(p)
		if stood {
			x.tell |= w.keys()
		}
		if stood || x.dropped {
			x.handOver(0)
		}
		return granted
	}
	if e.lines != w.keys() || e.ended {
		x.enter(p, back)
	}
	reply := inLine
	if !byWaiter && x.next(refused, 0) == p {
		reply = firstIn
	}
	if x.dropped {
		x.handOver(0)
	}
	return reply
}

// order is the keys of a set, those to be written first.
func (w want) order() (order []int) {
	for _, of := range [2]set{w.writes, w.reads} {
		for k := range keys {
			if of.has(k) {
				order = append(order, k)
			}
		}
	}
	return order
}

// enter enters the lines, in the place that the waiter had, or behind all others.
func (x *script) enter(p int, back bool) {
	e, w := &x.entries[p], x.m.wants[p]
	if e.place == 0 {
		clock := int8(1)
		for q := range procs {
			if x.came[p] = max(x.came[p], x.came[q]+1); !back {
				clock = max(clock, x.entries[q].place+2)
			}
		}
		e.place = clock
		if x.m.without != places {
			e.place = max(clock, x.last(w.keys())+1)
		}
	}
	e.lines, e.ended = w.keys(), false
}

// take gives p its keys.
func (x *script) take(p int) {
	x.judge(p)
	w := x.m.wants[p]
	x.entries[p].lines = 0
	x.written |= w.writes
	for k := range keys {
		switch {
		case w.writes.has(k):
			x.writer[k], x.readers[k] = one(p), 0
		case w.reads.has(k):
			x.writer[k] = 0
			x.readers[k] |= one(p)
		}
	}
}

// judge takes note if somebody gets a lock who is not the first to have come of those who want it, and are alive.
func (x *script) judge(p int) {
	if x.holds(p) || x.procs[p].phase != waiting {
		return // most likely nobody is to hear of it
	}
	for q, its := range x.procs {
		e, w := &x.entries[q], x.m.wants[q]
		if q == p || its.phase != waiting || e.ended || e.lines != w.keys() || x.deaf.has(q) || x.has(p, w.first()) {
			continue
		}
		if x.came[q] > 0 && (x.came[p] == 0 || x.came[q] < x.came[p]) && w.against(x.m.wants[p]) {
			x.wrong = overtaking
		}
	}
}

// release is release.lua for one that holds the lock, or gives up.
func (x *script) release(p int, does doing) {
	x.begins(call{does: does, p: int8(p)})
	w, lost, same := x.m.wants[p], set(0), set(0)
	for k := range keys {
		switch {
		case !w.keys().has(k):
		case !x.has(p, k):
			lost |= key(k)
		case x.readers[k].has(p):
			x.tell |= key(k)
		}
	}
	x.free(p)
	if does == givesUp {
		for k := range keys {
			if !x.entries[p].lines.has(k) {
				continue
			}
			x.entries[p].lines &^= key(k)
			x.tell |= key(k)
			q := x.next(k, 0)
			held := x.writer[k]|x.readers[k] != 0 || x.m.without == leftFree
			if held && w.reads.has(k) && lost == w.keys() && q >= 0 && x.m.wants[q].reads.has(k) {
				same |= key(k)
			}
		}
	}
	if x.m.without != handOver {
		x.handOver(same)
	}
}

// again is lua/again.lua for one waiter. It reports whether the waiter has to ask by itself, and when.
func (x *script) again(p int) (now, later bool) {
	x.begins(call{does: round, p: int8(p)})
	e, w := &x.entries[p], x.m.wants[p]
	stands := e.lines == w.keys() && !x.deaf.has(p)
	e.ended = false
	free := true
	for _, k := range w.order() {
		if !e.lines.has(k) || !free {
			continue
		}
		switch {
		case x.look(p, k):
			free, later = false, x.next(k, 0) == p && !x.m.long
		case w.reads.has(k):
			free = !x.isBefore(p, x.firstWriter(k, e.place))
		default:
			free = !x.isBefore(p, x.previous(k, e.place))
		}
	}
	if x.m.without == rounds {
		free = false
	}
	return free || !stands, later
}

func (x *script) isBefore(p, q int) bool {
	return q >= 0 && q != p && !x.entries[q].ended && !x.deaf.has(q)
}

// previous is who stands right before a place.
func (x *script) previous(k int, place int8) int {
	found := -1
	for q := x.next(k, 0); q >= 0 && x.entries[q].place < place; q = x.next(k, x.entries[q].place) {
		found = q
	}
	return found
}

// firstWriter is the first one in a line who wants to write, if it stands before a place.
func (x *script) firstWriter(k int, place int8) int {
	for q := x.next(k, 0); q >= 0 && x.entries[q].place < place; q = x.next(k, x.entries[q].place) {
		if x.m.wants[q].writes.has(k) {
			return q
		}
	}
	return -1
}
