package late

import "slices"

const (
	threads   = 2
	callers   = threads + holds // the threads of the program, and the clean-ups of each hold
	processes = 2
	maxLate   = 5 // a model with more does not fit
)

// A state is everything at one moment: Redis, what travels, and what the processes know. It is
// comparable, so that a search sees whether it was there before.
type state struct {
	server server
	late   [maxLate]request // requests that nobody waits for any more, and that may be executed yet
	owner  [processes]owner
	hold   [holds]hold
	call   [callers]call
	step   [threads]int8

	faults int8 // how many tries may yet stay without an answer
	errors int8 // how many scripts may yet fail when they have written a part
	ticks  int8 // how much time may yet pass
	turns  int8 // how often others may yet come
}

// start is the state in which a model begins.
func (m *model) start() state {
	s := state{faults: m.faults, errors: m.errors, ticks: m.ticks, turns: m.turns}
	s.server.other = m.other
	for p := range s.owner {
		s.owner[p].number = 1
		if p > 0 && m.process[p] != 0 {
			s.owner[p].id = int8(p)
		}
	}
	return s
}

// addLate adds a request to those that nobody waits for.
func (s *state) addLate(r request) {
	s.late[slices.Index(s.late[:], request{})] = r
	s.sortLate()
}

// take takes a late request out.
func (s *state) take(i int) request {
	r := s.late[i]
	s.late[i] = request{}
	s.sortLate()
	return r
}

// sortLate puts the late requests in an order, so that equal states are the same.
func (s *state) sortLate() {
	slices.SortFunc(s.late[:], request.compare)
}

// others returns what the other holds of the same process claim.
func (s *state) others(m *model, hold int) (claimed set) {
	for h := range s.hold {
		if h != hold && m.process[h] == m.process[hold] {
			claimed |= s.hold[h].claims
		}
	}
	return claimed
}

// laterClaims returns what those holds claim that have begun since a call has.
func (s *state) laterClaims(c *call) (claimed set) {
	for h := range s.hold {
		if c.later.has(h) {
			claimed |= s.hold[h].claims
		}
	}
	return claimed
}
