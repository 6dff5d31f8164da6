package outlive

// expire ends what has ended.
func (s *state) expire() {
	if s.server.owner != nobody && s.now >= s.server.till {
		s.server.owner, s.server.till = nobody, 0
	}
}

// execute executes a request of the holder: refresh.lua and release.lua.
func (s *state) execute(m *program, r *request) reply {
	k := &s.server
	mine := k.owner == holder || k.owner == left && m.without == token
	switch r.kind {
	case renewal, check:
		if !mine && m.without != whose || k.owner == nobody {
			return notOurs
		}
		if r.kind == renewal {
			k.till = max(k.till, s.now+m.ttl)
		}
		return done
	}
	if !mine {
		return notOurs
	}
	s.released = s.released || s.lock.keep > 0
	if r.rest == 0 {
		k.owner, k.till = nobody, 0
		s.handOver(m)
		return done
	}
	k.owner, k.till = left, s.now+r.rest
	if s.leftTill == 0 {
		s.leftTill = k.till
	}
	if k.till > s.lock.keep+s.now-r.sent {
		s.wrong = tooLong
	}
	if m.without != tells {
		s.tellHead()
	}
	return done
}

// tellHead tells the first in line when the key is free.
func (s *state) tellHead() {
	if s.server.line && s.queuer.is == stands {
		s.queuer.head = s.server.till
	}
}

// handOver gives the key to the first in line.
func (s *state) handOver(m *program) {
	if s.server.line && s.server.owner == nobody && s.queuer.is == stands {
		s.take(m, waiter)
		s.queuer.granted = true
	}
}

// take gives the key to somebody else.
func (s *state) take(m *program, by owner) {
	k := &s.server
	if s.released && s.broken == 0 && s.now < s.lock.keep {
		s.wrong = tooSoon
	}
	k.owner, k.till = by, s.now+m.ttl
	k.fence++
	if k.fence <= 1 {
		s.wrong = notGreater
	}
	if by == waiter {
		k.line = false
	}
}

// breaks is break.lua.
func (s *state) breaks(m *program) {
	k := &s.server
	if k.guard {
		return // overtaken
	}
	k.guard = m.without != guards
	if s.breaking == closed {
		s.wrong = afterClose
	}
	if k.owner == nobody {
		return
	}
	if s.broken++; s.broken > 1 {
		s.wrong = twice
	}
	s.lock.notice = s.lock.notice || k.owner == holder && s.lock.is == held
	k.owner, k.till = nobody, 0
	if m.without == forgets {
		k.fence = 0
	}
	if m.without != handsOver {
		s.handOver(m)
	}
}
