package line

import "github.com/seed-14de3678/redislock/proof/models/explore"

// The rules that can be left out.
const (
	all       = ""
	wholeSet  = "wholeset"
	handOver  = "handover"
	deadHeads = "deadheads"
	asksAgain = "asksagain"
	rounds    = "rounds"
	cleansUp  = "cleanup"
	closes    = "closes"
	places    = "places"
	overlap   = "overlap"
	ended     = "ended"
	leftFree  = "leftfree"
)

// A program is who comes, what they want, and what may happen.
type program struct {
	name    string
	wants   [procs]want
	holders crowd // who holds the lock at first
	asks    bool  // whoever has heard nothing asks every now and then
	rounds  bool  // rounds ask for them
	long    bool  // leases are so long that nobody needs to be told when they are over
	budget
	without string
	// ran is shown each run of a script: what there is before, and the call. It is nil but in the test that ties the model.
	ran func(m *program, before state, c call)
}

// looksAt reports whether who wants a set of keys asks who waits for one of them.
func (m *program) looksAt(p, k int) bool { return m.without != overlap || k == m.wants[p].first() }

func (m *program) start() (s state) {
	s.left = m.budget
	for p := range procs {
		if m.holders.has(p) {
			s.procs[p].phase = holding
			m.script(&s, p).take(p)
		}
	}
	return s
}

func (m *program) model() explore.Program {
	return explore.Model[state]{Name: m.name, Start: m.start(), Next: m.next, Wrong: m.isWrong, End: end, Settles: true}
}

// isWrong says what is wrong with a state.
func (m *program) isWrong(s state) string {
	if s.wrong == overtaking {
		return "a waiter was overtaken by one that came later and wants a key of its set"
	}
	for p, its := range s.procs {
		if its.phase == gone && (s.entries[p].lines != 0 || s.holds(p)) {
			return "something is left of one that has given up"
		}
		if its.phase != holding {
			continue
		}
		for q := range p {
			if s.procs[q].phase == holding && m.wants[p].against(m.wants[q]) {
				return "two hold locks that exclude each other"
			}
		}
		for k := range keys {
			if m.wants[p].writes.has(k) && s.writer[k] != one(p) || m.wants[p].reads.has(k) && !s.readers[k].has(p) {
				return "a holder does not hold a key any more"
			}
		}
	}
	if !m.asks && !m.rounds {
		return m.forgotten(&s)
	}
	return ""
}

// forgotten says whether somebody could have its keys, and neither it nor one before it is about to hear or to ask.
func (m *program) forgotten(s *state) string {
	for p, its := range s.procs {
		if its.phase != waiting || s.acts(p) || s.deaf.has(p) {
			continue
		}
		x, free := m.script(s, p), true
		for _, k := range x.order {
			if x.look(p, k) || x.before(p, k, s.entries[p].place) >= 0 {
				free = false
			}
			for q := s.next(k, 0); q >= 0 && s.entries[q].place < s.entries[p].place; q = s.next(k, s.entries[q].place) {
				free = free && !s.acts(q) // one that reads as well: whatever it does hands over
			}
		}
		if free {
			return "nothing is in the way of a waiter, and nobody tells it"
		}
	}
	return ""
}

// acts reports whether a process that stands in line, or may, is about to hear, to ask, or to leave.
func (s *state) acts(p int) bool {
	its := s.procs[p]
	return its.phase == cleaning || its.phase == waiting && (its.ask != quiet || its.mail != 0 || its.timer || its.late)
}

// end says what is wrong with a state from which no step is possible.
func end(s state) string {
	for _, its := range s.procs {
		if its.phase == waiting {
			return "a waiter waits for ever"
		}
	}
	return ""
}

func writes(k set) want { return want{writes: k} }
func reads(k set) want  { return want{reads: k} }

// The keys.
const (
	a set = 1 << iota
	b
	c
)
