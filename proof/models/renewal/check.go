package renewal

// wrong says what is wrong with a state.
func wrong(s state) string {
	k := s.server
	if s.freed && k.owner == ours {
		return "what was released is held again"
	}
	if k.owner == theirs && k.till != s.granted {
		return "the lease of somebody else has changed"
	}
	for i, h := range s.handles {
		switch {
		case h.told > 1:
			return "a loss was told twice"
		case h.is == lost && h.told == 0:
			return "a loss was not told"
		case h.is == held && h.deadline > 0 && s.now >= h.deadline:
			return "the deadline has come, and nobody was told"
		}
		if other := s.handles[1-i].is; h.is != held || h.deadline == 0 || other == released {
			continue
		}
		if k.owner != ours || k.till < h.deadline {
			return "a lock counts on a lease that it does not have"
		}
	}
	return ""
}

// end says what is wrong with a state in which nothing can happen any more.
func end(s state) string {
	if h := s.handles[0]; h.is == released && s.server.owner == ours {
		return "what was released is held still"
	}
	return ""
}
