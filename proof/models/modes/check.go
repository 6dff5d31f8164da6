package modes

// isWrong says what is wrong with a state.
func (m *program) isWrong(s state) string {
	if s.wrong == pastIntent {
		return "a new reader has got in although a writer that waits keeps them out"
	}
	if s.intent > 0 && s.procs[s.intent-1].phase != waiting && s.procs[s.intent-1].phase != dead {
		return "an intent is left of one that does not ask any more"
	}
	for p, its := range s.procs {
		switch its.phase {
		case holding:
			if wrong := s.isLess(p); wrong != "" {
				return wrong
			}
		case waiting:
			if m.forgotten(&s, p) {
				return "nothing is in the way of a waiter, and nobody tells it"
			}
		}
	}
	return ""
}

// isLess says what a holder does not have that it counts on.
func (s *state) isLess(p int) string {
	its := s.procs[p]
	switch has := s.has(p); {
	case has < its.mode, s.till < its.deadline, has == reads && s.reader[p] < its.deadline:
		return "a holder counts on more than it has"
	}
	for q, other := range s.procs[:p] {
		if other.phase == holding && (its.mode == writes || other.mode == writes) && q != p {
			return "a writer is not alone"
		}
	}
	return ""
}

// forgotten reports whether a process in line could have the key, and neither it nor one before it is about to hear or to ask.
func (m *program) forgotten(s *state, p int) bool {
	if m.roles[p].way != queues || s.place[p] == 0 || s.look(m, p, m.roles[p].wants) || s.before(m, p) {
		return false
	}
	for q, place := range s.place {
		c := s.procs[q]
		if place > 0 && place <= s.place[p] && (c.head > 0 || c.askAt > 0 && c.askAt <= s.now) {
			return false
		}
	}
	return true
}

// end says what is wrong with a state in which nothing can happen any more.
func end(s state) string {
	for _, its := range s.procs {
		if its.phase == insisting {
			return "readers wait for each other"
		}
	}
	return ""
}
