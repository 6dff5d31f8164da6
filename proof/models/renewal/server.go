package renewal

// run executes a request.
func (s *state) run(m *program, r *request) reply {
	if m.ran != nil {
		m.ran(m, *s, *r)
	}
	return s.execute(m, r)
}

// execute is refresh.lua and release.lua.
func (s *state) execute(m *program, r *request) reply {
	k := &s.server
	if r.stamped && k.guard > r.number {
		return overtaken
	}
	if r.closes {
		k.guard = max(k.guard, r.number)
	}
	if r.kind == release || r.kind == cleanup {
		s.freed = true
		if k.owner != ours {
			return notOurs
		}
		k.owner, k.till = nobody, 0
		return done
	}
	switch {
	case k.owner == nobody && m.without == creates:
		k.owner = ours
	case k.owner == theirs && m.without == whose:
	case k.owner != ours:
		return notOurs
	}
	till := s.now + r.ttl
	if r.longer && (m.without != shortens || r.kind != renewal) {
		till = max(till, k.till)
	}
	k.till = till
	return done
}

// expire ends what has ended.
func (s *state) expire() {
	if s.server.owner != nobody && s.now >= s.server.till {
		s.server.owner, s.server.till = nobody, 0
	}
}
