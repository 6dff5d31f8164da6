package line

import "math/bits"

const (
	procs = 4
	keys  = 3
)

// A set is one of keys, as bits.
type set uint8

func (s set) has(k int) bool { return s>>k&1 == 1 }

func key(k int) set { return 1 << k }

// A crowd is a set of processes.
type crowd uint8

func (c crowd) has(p int) bool { return c>>p&1 == 1 }

func one(p int) crowd { return 1 << p }

// A want is what a process wants, or holds.
type want struct{ writes, reads set }

func (w want) keys() set { return w.writes | w.reads }

func (w want) against(other want) bool { return w.writes&other.keys()|w.reads&other.writes != 0 }

type phase int8

const (
	absent    phase = iota // it comes later, or never
	waiting                // its Obtain goes on
	holding                // it counts on the lock
	releasing              // its release is under way
	cleaning               // its Obtain has ended; its clean-up is under way
	gone                   // it has given up, and the clean-up was answered
	over                   // it has released, or its lease has run out
	dead                   // its process was killed
)

type asking int8

const (
	quiet   asking = iota
	asked          // the request is under way
	granted        // the reply is: the lock is its own
	inLine         // it stands in line
	firstIn        // it does, and the reply says when the lease before it is over
	tooLate        // the lock was its own; the lease is over
)

// What a process is told.
const (
	wake  = 1 << iota // ask again now
	head              // ask again when this lease is over
	grant             // granted
)

// A process is one Obtain, and what becomes of it.
type process struct {
	phase phase
	ask   asking
	late  bool  // a request for whose answer it does not wait any more may be executed yet
	knows bool  // its place, or a late request does
	mail  uint8 // messages on their way
	timer bool  // it will ask by itself
}

// An entry is where a waiter stands: the same place in all its lines.
type entry struct {
	place int8 // 0: none
	lines set  // in which it stands
	ended bool // it has been silent for too long
}

// A budget is how often things may happen still, which keeps the number of states finite.
type budget struct {
	messages int8 // that are lost
	answers  int8 // requests and replies that are lost
	kills    int8
	cuts     int8 // of the connection on which a living process hears
	pauses   int8 // of a waiter, for so long that it counts as dead
	cancels  int8
	ends     int8 // leases that run out in the hands of the living
	steps    int8 // of the server's clock, back
}

type state struct {
	writer  [keys]crowd // who writes the key, in Redis: one at most
	readers [keys]crowd
	entries [procs]entry
	deaf    crowd // nobody hears the channels of these
	procs   [procs]process
	came    [procs]int8 // the order in which they came who have a place; 0: none
	left    budget
	wrong   wrong // what the latest step has done
}

type wrong int8

const (
	nothing wrong = iota
	overtaking
)

// has reports whether p holds a key in Redis.
func (s *state) has(p, k int) bool { return (s.writer[k] | s.readers[k]).has(p) }

// holds reports whether p holds something in Redis.
func (s *state) holds(p int) bool {
	for k := range keys {
		if s.has(p, k) {
			return true
		}
	}
	return false
}

// free ends everything that p holds.
func (s *state) free(p int) {
	for k := range keys {
		s.writer[k] &^= one(p)
		s.readers[k] &^= one(p)
	}
}

// next returns who stands behind a place in a line; -1 if nobody does.
func (s *state) next(k int, behind int8) int {
	found := -1
	for p, e := range s.entries {
		if e.lines.has(k) && e.place > behind && (found < 0 || e.place < s.entries[found].place) {
			found = p
		}
	}
	return found
}

// last returns the last place in the lines.
func (s *state) last(lines set) (last int8) {
	for _, e := range s.entries {
		if e.lines&lines != 0 {
			last = max(last, e.place)
		}
	}
	return last
}

// settle brings states that differ in nothing that matters into one form: places and arrivals are ranks.
func (s *state) settle() {
	for p := range procs {
		e, c := &s.entries[p], &s.procs[p]
		if c.phase != waiting {
			c.mail, c.timer = 0, false
		}
		if c.phase != waiting && c.phase != cleaning && !c.late { // a late request says its place as well
			c.knows = false
		}
		if e.lines == 0 {
			e.ended = false
		}
		if e.lines == 0 && !c.knows && c.ask != inLine && c.ask != firstIn {
			e.place, s.came[p] = 0, 0
		}
	}
	var places, came [procs]int8
	for p := range procs {
		places[p], came[p] = s.entries[p].place, s.came[p]
	}
	for p := range procs {
		s.entries[p].place = 2 * rank(places, places[p])
		s.came[p] = rank(came, came[p])
	}
}

// rank is how many different numbers there are up to this one, without 0.
func rank(all [procs]int8, of int8) int8 {
	if of == 0 {
		return 0
	}
	var below uint64
	for _, n := range all {
		if n > 0 && n <= of {
			below |= 1 << n
		}
	}
	return int8(bits.OnesCount64(below))
}
