package late

import "fmt"

// manyNumbers is more than the owner of any run needs.
const manyNumbers = 24

// check returns what is wrong with a state, empty if nothing is.
func (m *model) check(s *state) string {
	for i := range keys {
		for h := range s.hold {
			want, is := s.hold[h].counts[i], s.server.mine[i]
			if want.mode == free {
				continue
			}
			if is.mode < want.mode || is.left < want.left {
				return fmt.Sprintf("hold %d counts on key %s (mode %d, lease %d), there is (mode %d, lease %d)",
					h, one(i), want.mode, want.left, is.mode, is.left)
			}
		}
		if s.server.mine[i].mode != free && !s.isWanted(i) {
			return fmt.Sprintf("key %s is locked by nobody", one(i))
		}
		if taken := s.server.taken[i]; taken == writes && s.server.mine[i].mode != free || taken == reads && s.server.mine[i].mode == writes {
			return fmt.Sprintf("key %s was left, and is held before its time is over", one(i))
		}
		if m.isCalm(s) && s.server.guard[i] != [ids]guard{} {
			return "a guard where nothing has failed"
		}
	}
	for h := range s.hold {
		if s.server.place[0][h]+s.server.place[1][h] > 0 && !s.mayStand(h) {
			return fmt.Sprintf("a waiter of hold %d stands in line for nobody", h)
		}
	}
	for i := range s.call {
		if s.call[i].beaten >= endless {
			return "a call is overtaken again and again"
		}
	}
	if s.owner[0].number > manyNumbers {
		return "numbers are used up without end"
	}
	return ""
}

// isCalm reports whether no request has stayed without an answer, and the owner has sent one at a time only:
// where a lease may end before the answer comes, or a waiter gives up, a clean-up is sent beside others.
func (m *model) isCalm(s *state) bool {
	return s.faults == m.faults && s.errors == m.errors && len(m.threads[1]) == 0 && m.ticks == 0 && m.waiterLease == 0
}

// isWanted reports whether somebody counts key i among its own, or is about to clean it up.
func (s *state) isWanted(i int) bool {
	for h := range s.hold {
		if (s.hold[h].claims | s.hold[h].left).has(i) {
			return true
		}
	}
	for c := range s.call {
		r := s.call[c].request
		if s.call[c].phase != idle && (r.op.obtains() || r.op.frees()) && r.keys.has(i) {
			return true
		}
	}
	return false
}

// mayStand reports whether the waiter of a hold may be in line.
func (s *state) mayStand(h int) bool {
	if s.hold[h].unclean {
		return true
	}
	for c := range s.call {
		r := s.call[c].request
		if s.call[c].phase != idle && int(r.hold) == h && (r.op.obtains() || r.op.frees()) {
			return true
		}
	}
	return false
}
