package passing

var texts = map[mistake]string{
	tooShort:   "a lock was returned with less than half of its ttl",
	tooLong:    "a hold was passed on when the time for that was over",
	skipped:    "a hold was passed on to somebody before one that came earlier",
	overtook:   "somebody who stands in line is passed by one that came later",
	notGreater: "a fencing number is not greater than one before",
	notRenewed: "a renewal was answered, and the holder does not know of it",
	untrue:     "a conflict is named that is older than the wait",
	tooSoon:    "somebody has a key that was left, before its time is over",
	wasLost:    "a lock was returned whose loss had been told",
	twoCounted: "two locks of one hold are counted at once",
}

// isWrong says what is wrong with a state.
func (m *program) isWrong(s state) string {
	if s.wrong != right {
		return texts[s.wrong]
	}
	h, k := s.hold, s.server
	holders := 0
	for p, c := range s.callers {
		if c.phase == holding {
			holders++
			if int(h.has) != p+1 {
				return "somebody counts on a hold of another one"
			}
		}
	}
	switch {
	case holders > 1:
		return "two hold locks that exclude each other"
	case holders == 1 && s.now >= h.deadline:
		return "the deadline has come, and nobody was told"
	case holders == 1 && k.owner != h.token && k.broken != h.token:
		return "a holder does not hold the key"
	case holders == 1 && k.owner == h.token && k.till < h.deadline:
		return "the deadline is after the end of the lease in Redis"
	case holders == 1 && k.cut && h.touched != h.has:
		return "a holder does not hold a part of its set"
	case k.owner > nobody && k.owner <= callers && m.isForNobody(&s):
		return "the key is locked for nobody"
	}
	return ""
}

// isForNobody reports whether the key is locked by a token of the Client, and nobody has it or is about to free it.
func (m *program) isForNobody(s *state) bool {
	t := s.server.owner
	if s.hold.token == t && s.hold.has > 0 {
		p := s.callers[s.hold.has-1].phase
		if p == holding || p == given || p == freeing {
			return false
		}
	}
	switch p := s.callers[t-1].phase; p {
	case local, carried, asking, standing, dead:
		return false // it hears of it, or nobody can
	}
	wasLost := s.hold.token == t && s.hold.lost
	return s.release.token != t && !wasLost && !s.isKilled()
}

// isKilled reports whether the process was killed.
func (s *state) isKilled() bool {
	for _, c := range s.callers {
		if c.phase == dead {
			return true
		}
	}
	return false
}

// end says what is wrong with a state in which nothing can happen any more.
func (m *program) end(s state) string {
	if s.server.owner != nobody {
		return "" // the time for which all this goes on was too short
	}
	for p, c := range s.callers {
		if c.phase < over && m.roles[p].ttl > 0 {
			return "somebody waits for ever"
		}
	}
	if s.server.line != [2]int8{} {
		return "one of another Client waits for ever"
	}
	return ""
}
