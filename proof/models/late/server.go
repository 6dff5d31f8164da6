package late

// A mode is how a key is held.
type mode int8

const (
	free mode = iota
	reads
	writes
)

// A lease is what the server says about a key of the token, or what a lock counts on there: the zero
// one is none.
type lease struct {
	mode mode
	left int8 // how long; in models with a clock in ticks
}

// most is the lease that takes nothing away from any other, if it is the limit of it.
var most = lease{writes, 100}

// within returns what is left of a lease under a limit.
func (l lease) within(limit lease) lease {
	l.mode, l.left = min(l.mode, limit.mode), min(l.left, limit.left)
	if l.mode == free || l.left <= 0 {
		return lease{}
	}
	return l
}

// A guard is what a line says about an owner's id: nothing below this number.
type guard struct {
	number int8
	left   int8 // ticks, in models with a clock
}

const (
	ids = 5   // that owners can have had
	top = 100 // the greatest number that a guard can have: no request has it

	holds   = 2
	waiters = holds + 1 // a hold each, and one of another token
	another = holds     // that one
)

// A server is what Redis has.
type server struct {
	mine     [keys]lease // what the token holds
	other    [keys]mode  // what another token holds
	taken    [keys]mode  // how a key is taken that was left, until its time is over
	guard    [keys][ids]guard
	place    [keys][waiters]int8 // in the lines; 0: it does not stand there
	notified [holds]bool         // a message to the waiter that it was granted its keys is on its way
}

// raise sets a guard to a number, unless it has a greater one, for the whole time that a guard lives.
func (s *server) raise(m *model, line int, id, number int8) {
	g := &s.guard[line][id]
	if m.broken != lowers {
		number = max(number, g.number)
	}
	*g = guard{number, m.guardLife}
	if m.broken == capped {
		g.number = min(g.number, m.last)
	}
}

// stands reports whether a waiter stands in every line of the keys that it wants.
func (s *server) stands(w int, wants set) bool {
	for i := range keys {
		if wants.has(i) && s.place[i][w] == 0 {
			return false
		}
	}
	return true
}

// leave takes a waiter out of the lines of some keys.
func (s *server) leave(m *model, w int, of set) {
	for i := range keys {
		if of.has(i) && (m.broken != leavesFirst || w == another || m.home[w] == int8(i)) {
			s.place[i][w] = 0
		}
	}
}

// enter has a waiter stand in all lines of the keys that it wants: where it did, or, if it is missing
// from one, in one new place.
func (s *server) enter(w int, wants set) {
	if s.stands(w, wants) {
		return
	}
	last := int8(0)
	for i := range keys {
		for _, place := range s.place[i] {
			last = max(last, place)
		}
	}
	for i := range keys {
		if wants.has(i) {
			s.place[i][w] = last + 1
		}
	}
}

// isBehind reports whether in the line of key i somebody of another token stands before a waiter, which
// may not stand there itself.
func (s *server) isBehind(w, i int) bool {
	for before, place := range s.place[i] {
		if place > 0 && (before == another) != (w == another) && (s.place[i][w] == 0 || place < s.place[i][w]) {
			return true
		}
	}
	return false
}

// handOver grants what can be granted to waiters that want nothing but some of these keys. A script knows no other keys: whoever
// wants more is told to ask.
func (s *server) handOver(m *model, of set) {
	for again := true; again; {
		again = false
		for w := range waiters {
			again = m.wants(w)&^of == 0 && s.admit(m, w) || again
		}
	}
}

// admit grants a waiter all its keys, if nothing is in its way.
func (s *server) admit(m *model, w int) bool {
	wants := m.wants(w)
	if wants == 0 || !s.stands(w, wants) {
		return false
	}
	for i := range keys {
		if wants.has(i) && (s.mine[i].mode != free || s.other[i] != free || s.taken[i] != free || s.isBehind(w, i)) {
			return false
		}
	}
	s.leave(m, w, wants)
	for i := range keys {
		switch {
		case !wants.has(i):
		case w == another:
			s.other[i] = writes
		default:
			s.mine[i] = lease{writes, m.waiterLease}
		}
	}
	if w != another {
		s.notified[w] = true
	}
	return true
}

// tick lets time pass for what has an end.
func (s *server) tick() {
	for i := range keys {
		s.mine[i].left = max(0, s.mine[i].left-1)
		if s.mine[i].left == 0 {
			s.mine[i] = lease{}
		}
		for id := range ids {
			g := &s.guard[i][id]
			if g.left--; g.left <= 0 {
				*g = guard{}
			}
		}
	}
}
