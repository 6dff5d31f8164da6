package local

var texts = map[mistake]string{
	overtook: "somebody who stands in line is passed by one that came later",
	skipped:  "somebody in a local line is passed by one that came later",
	notFree:  "a Release was executed, and the keys are still the releaser's",
}

// isWrong says what is wrong with a state.
func (m *program) isWrong(s state) string {
	if s.wrong != right {
		return texts[s.wrong]
	}
	for p, c := range s.callers {
		if c.phase != holding {
			continue
		}
		for q := range p {
			if s.callers[q].phase == holding && m.roles[p].want.against(m.roles[q].want) {
				return "two hold locks that exclude each other"
			}
		}
		for k := range keys {
			its := m.roles[p].want
			if its.writes.has(k) && int(s.writer[k]) != p+1 || its.reads.has(k) && !s.readers[k].has(p) {
				return "a holder does not hold a key any more"
			}
		}
	}
	return ""
}

// end says what is wrong with a state in which nothing can happen any more.
func (m *program) end(s state) string {
	for p, c := range s.callers {
		switch c.phase {
		case paused, over, dead:
		default:
			return "somebody waits for ever"
		}
		if c.phase != dead && s.holds(p) {
			return "a key is locked for nobody"
		}
		if c.phase != dead && s.stands(p) {
			return "somebody stands in line who is gone"
		}
	}
	return ""
}
