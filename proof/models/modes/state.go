package modes

const procs = 4

type mode int8

const (
	free mode = iota
	reads
	writes
)

// How a process waits.
type way int8

const (
	polls    way = iota
	declares     // it polls, and declares an intent
	queues
)

// A role is what a process is for.
type role struct {
	wants    mode
	way      way
	ttl      int8
	converts bool // it upgrades, or downgrades
}

type phase int8

const (
	absent phase = iota
	waiting
	holding
	insisting // it waits for its Upgrade: no process does, unless a rule is left out
	gone      // it has given up
	over      // it has released, or its deadline has come
	dead
)

// A process is one lock.
type process struct {
	phase     phase
	mode      mode // in which it counts on the key
	deadline  int8
	asked     int8 // how often
	askAt     int8 // when it asks by itself; 0: it does not
	granted   mode // a message says so, on its way
	grantTill int8 // until then the grant counts
	head      int8 // a message says when the lease before it is over; 0: there is none
	converted bool
	refreshed bool
}

type state struct {
	now    int8
	writer int8        // who writes the key, from 1; 0: nobody
	till   int8        // the tick at which the key ends
	reader [procs]int8 // when the leases of readers end; 0: it is none
	intent int8        // whose it is, from 1; 0: there is none
	ends   int8        // when the intent ends
	place  [procs]int8 // in line; 0: it does not stand there
	procs  [procs]process
	kills  int8 // how many may be killed still
	losses int8 // how many conversions may stay without an answer
	wrong  wrong
}

type wrong int8

const (
	right wrong = iota
	pastIntent
)

// expire ends what has ended.
func (s *state) expire() {
	if s.now >= s.till {
		s.clear()
	}
	if s.now >= s.ends {
		s.intent, s.ends = 0, 0
	}
}

// clear deletes the key.
func (s *state) clear() { s.writer, s.till, s.reader = 0, 0, [procs]int8{} }

// settle forgets what does not matter any more, and makes ranks of the places.
func (s *state) settle() {
	for p := range procs {
		c := &s.procs[p]
		if c.phase != waiting && c.phase != holding && c.phase != insisting {
			s.procs[p] = process{phase: c.phase}
		}
		if c.phase == holding {
			c.askAt, c.granted, c.head, c.asked = 0, free, 0, 0
		}
	}
	before := s.place
	for p := range procs {
		s.place[p] = 0
		for q := range procs {
			if before[p] > 0 && before[q] > 0 && before[q] <= before[p] {
				s.place[p]++
			}
		}
	}
}
