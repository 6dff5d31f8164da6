package outlive

// expire ends what has ended.
func (s *state) expire() {
	if s.server.owner != nobody && s.now >= s.server.till {
		s.server.owner, s.server.till = nobody, 0
	}
}

// A call is one run of a script.
type call struct {
	kind kind
	by   owner
	rest int8 // of a Release: for how long the key is to be left
	sent int8 // when that was so
}

// run executes a script.
func (s *state) run(m *program, c call) reply {
	if m.ran != nil {
		m.ran(m, *s, c)
	}
	return s.execute(m, c)
}

func (s *state) execute(m *program, c call) reply {
	switch c.kind {
	case renewal, check:
		return s.refresh(m, c)
	case obtain:
		return s.obtain(m, c.by)
	case breakUp:
		return s.breaks(m)
	case withdraw:
		return s.withdraw(m)
	}
	return s.release(m, c)
}

// has reports whether the value of the key has the token of somebody.
func (s *state) has(m *program, by owner) bool {
	k := &s.server
	return k.owner == by || k.owner == left && by == holder && m.without == token
}

// refresh is refresh.lua, which shortens nothing.
func (s *state) refresh(m *program, c call) reply {
	k := &s.server
	if !s.has(m, c.by) && m.without != whose || k.owner == nobody {
		return notOurs
	}
	if c.kind == renewal {
		k.till = max(k.till, s.now+m.ttl)
	}
	return done
}

// release is release.lua. Where it finds the key free it hands it over as well.
func (s *state) release(m *program, c call) reply {
	k := &s.server
	if !s.has(m, c.by) {
		s.handOver(m)
		return notOurs
	}
	s.released = s.released || s.lock.keep > 0 && c.by == holder
	if c.rest == 0 {
		k.owner, k.till = nobody, 0
		s.handOver(m)
		return done
	}
	k.owner, k.till = left, s.now+c.rest
	if s.leftTill == 0 {
		s.leftTill = k.till
	}
	if k.till > s.lock.keep+s.now-c.sent {
		s.wrong = tooLong
	}
	if m.without != tells {
		s.tellHead(k.till)
	}
	return done
}

// obtain is rw.lua: of the waiter, which stands in line, or of somebody else, who does not.
func (s *state) obtain(m *program, by owner) reply {
	if s.server.owner != nobody || s.server.line && by != waiter {
		return refused
	}
	s.take(m, by)
	return done
}

// tellHead tells the first in line when the key is free.
func (s *state) tellHead(free int8) {
	if s.server.line && s.queuer.is == stands {
		s.queuer.head = free
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

// breaks is lua/break.lua.
func (s *state) breaks(m *program) reply {
	k := &s.server
	if k.guard {
		return overtaken
	}
	k.guard = m.without != guards
	if s.breaking == closed {
		s.wrong = afterClose
	}
	if k.owner != nobody {
		if s.broken++; s.broken > 1 {
			s.wrong = twice
		}
		s.lock.notice = s.lock.notice || k.owner == holder && s.lock.is == held
		k.owner, k.till = nobody, 0
		if m.without == forgets {
			k.fence = 0
		}
	}
	if m.without != handsOver {
		s.handOver(m)
	}
	return done
}

// withdraw is release.lua for the token of the Break, which holds nothing: it closes what was not executed of the Break. It has no
// fencing numbers at hand, so it tells the first in line to ask for a key that is free.
func (s *state) withdraw(m *program) reply {
	k := &s.server
	if k.guard {
		return overtaken
	}
	if k.guard = m.without != closes; k.owner == nobody {
		s.tellHead(s.now)
	}
	return notOurs
}
