package local

const (
	callers = 5 // at most
	keys    = 2
)

// A set is one of keys, as bits.
type set uint8

func (s set) has(k int) bool { return s>>k&1 == 1 }

// The keys.
const (
	a set = 1 << iota
	b
)

// A crowd is a set of callers.
type crowd uint8

func (c crowd) has(p int) bool { return c>>p&1 == 1 }

func one(p int) crowd { return 1 << p }

// A want is what a caller wants, or holds.
type want struct{ writes, reads set }

func (w want) keys() set { return w.writes | w.reads }

func (w want) against(other want) bool { return w.writes&other.keys()|w.reads&other.writes != 0 }

type phase int8

const (
	absent   phase = iota // it comes later
	local                 // it waits in its Client, and no request is under way for it
	carried               // by a Release that is under way
	asking                // its own request is under way
	standing              // it knows that it stands in line
	paused                // the server has refused it for the server's own sake; it asks again at some time, or never
	holding               // it counts on its lock
	freeing               // its Release is under way
	cleaning              // it has given up, and its clean-up is under way
	over                  // its call, or its hold, has ended
	dead                  // its process was killed
)

// A caller is one Obtain, and what becomes of it.
type caller struct {
	phase   phase
	arrived int8       // the time of its arrival
	sent    int8       // when the request was sent that is under way
	due     int8       // the time that its place stands for
	place   [keys]int8 // in each line: the same number, if the rules are kept
	number  int8       // of its requests
	guard   int8       // in Redis: nothing of it below this number
	asked   bool       // a request was sent for it
	open    bool       // one was not answered
	slow    bool       // the one under way takes longer than others wait for
	timer   set        // it asks when a lease of these keys is over
	woken   bool       // it was told to ask
	granted bool       // a message says that it has its keys
	carries int8       // whom its Release carries, and one; 0: nobody
	again   bool       // its Release is not the first try
}

// A lateAsk is a request of a caller for whose answer nobody waits. It may be executed at any time.
type lateAsk struct{ who, number, sent int8 } // who: and one; 0: there is none

// A lateRelease is a Release of which that is true; it may carry somebody.
type lateRelease struct{ who, carries, sent int8 }

// A budget is how often things may happen still.
type budget struct {
	losses  int8 // requests that are not answered
	cancels int8 // callers that give up
	pauses  int8 // requests that the server refuses for its own sake
	slow    int8 // requests that take long
	ends    int8 // leases that end in the hands of the living
	kills   int8 // Clients whose process is killed
	full    int8 // Releases that find no memory for what they carry
	steps   int8 // of the server's clock, back
}

type state struct {
	callers [callers]caller
	writer  [keys]int8 // who writes the key, in Redis, and one
	readers [keys]crowd
	lines   [keys]crowd // who stands there
	clock   int8
	back    int8  // by which the server's clock was set back
	deaf    crowd // nobody hears the channels of these
	lateAsk lateAsk
	late    lateRelease
	left    budget
	wrong   mistake
}

// A mistake is what the latest step has done wrong.
type mistake int8

const (
	right mistake = iota
	overtook
	skipped
	notFree
)

// has reports whether p holds a key, in Redis.
func (s *state) has(p, k int) bool { return int(s.writer[k]) == p+1 || s.readers[k].has(p) }

// holds reports whether p holds something.
func (s *state) holds(p int) bool { return s.has(p, 0) || s.has(p, 1) }

// stands reports whether p stands in a line.
func (s *state) stands(p int) bool { return (s.lines[0] | s.lines[1]).has(p) }

// settle forgets what does not matter any more, so that states that differ in nothing else are one; keep: but not who has been
// there.
func (s *state) settle(keep bool) {
	for p := range s.callers {
		c := &s.callers[p]
		pending := int(s.lateAsk.who) == p+1 || int(s.late.who) == p+1 || int(s.late.carries) == p+1
		for _, other := range s.callers {
			pending = pending || other.phase == freeing && int(other.carries) == p+1
		}
		switch c.phase {
		case over, dead:
			*c = caller{phase: c.phase, arrived: c.arrived, number: c.number, guard: c.guard, place: c.place, asked: c.asked && keep}
			if !pending {
				c.number, c.guard = 0, 0
				if !s.stands(p) && !keep {
					c.arrived = 0
				}
			}
		case holding, paused, freeing:
			c.timer, c.woken, c.open, c.slow = 0, false, false, false
			c.granted = c.granted && c.phase == paused
			if !pending && c.phase != freeing {
				c.number, c.guard = 0, 0
			}
		}
		if c.phase != asking && c.phase != freeing && !pending {
			c.sent = 0
		}
		if !s.stands(p) {
			c.place, c.due = [keys]int8{}, 0
		}
	}
}
