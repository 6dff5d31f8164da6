package modes

// look reports whether somebody else keeps p from holding the key in a mode.
func (s *state) look(m *program, p int, as mode) bool {
	if s.writer > 0 {
		return int(s.writer) != p+1
	}
	if s.till == 0 {
		return false
	}
	running := false
	for q, till := range s.reader {
		running = running || till > s.now
		if q != p && till > s.now && as == writes && m.without != blind {
			return true
		}
	}
	return !running
}

// has reports in which mode p has the key.
func (s *state) has(p int) mode {
	switch {
	case int(s.writer) == p+1:
		return writes
	case s.reader[p] > s.now:
		return reads
	}
	return free
}

// before reports whether somebody stands in line whom p has to let go first.
func (s *state) before(m *program, p int) bool {
	for q, place := range s.place {
		both := m.roles[p].wants == reads && m.roles[q].wants == reads
		if q != p && place > 0 && !both && (s.place[p] == 0 || place < s.place[p]) {
			return true
		}
	}
	return false
}

// give gives p the key in a mode.
func (s *state) give(m *program, p int, as mode) {
	till := s.now + m.roles[p].ttl
	if as == writes {
		s.clear()
		s.writer, s.till = int8(p+1), till
		return
	}
	if s.writer > 0 {
		s.clear()
	}
	s.lease(m, p, till)
}

// lease puts a lease into a read-locked key, which ends with the last of its readers.
func (s *state) lease(m *program, p int, till int8) {
	s.reader[p] = till
	s.till = till
	for q, its := range s.reader {
		if its <= s.now {
			s.reader[q] = 0
		} else if m.without != lastComer {
			s.till = max(s.till, its)
		}
	}
}

// obtain is obtain.lua and rw.lua. It reports whether p has the key now.
func (s *state) obtain(m *program, p int, last bool) bool {
	role := m.roles[p]
	refused := s.look(m, p, role.wants)
	if !refused && s.has(p) == free {
		refused = s.before(m, p) || role.wants == reads && role.way == polls && s.intent > 0 && m.without != intentless
	}
	if !refused {
		stood := s.place[p] > 0
		if s.has(p) == free {
			s.judge(m, p)
		}
		s.place[p] = 0
		s.give(m, p, role.wants)
		s.withdraw(p)
		if stood {
			s.handOver(m)
		}
		return true
	}
	switch role.way {
	case declares:
		s.declare(m, p, last)
	case queues:
		if s.place[p] == 0 {
			s.place[p] = procs + 1
			s.settle()
		}
		s.procs[p].askAt = 0
		if s.first() == p && s.till > 0 {
			s.procs[p].askAt = s.till
		}
	}
	return false
}

// declare has a writer that was refused keep new readers out until it has asked again; one that will not ask again withdraws.
func (s *state) declare(m *program, p int, last bool) {
	if last {
		if m.without != withdraws {
			s.withdraw(p)
		}
		return
	}
	s.intent, s.ends = int8(p+1), s.now+pause+1
	if m.without == shortLived {
		s.ends = s.now + pause
	}
}

// withdraw deletes the intent of p.
func (s *state) withdraw(p int) {
	if int(s.intent) == p+1 {
		s.intent, s.ends = 0, 0
	}
}

// judge takes note of a reader that gets in although a writer which keeps new readers out is about to ask again.
func (s *state) judge(m *program, p int) {
	for q, its := range s.procs {
		if m.roles[p].wants == reads && m.roles[p].way == polls && m.roles[q].way == declares && its.phase == waiting && its.asked > 0 {
			s.wrong = pastIntent
		}
	}
}

// first is who stands first in line; -1 if nobody does.
func (s *state) first() int {
	for p, place := range s.place {
		if place == 1 {
			return p
		}
	}
	return -1
}

// release is release.lua, also of one that gives up.
func (s *state) release(m *program, p int) {
	switch s.has(p) {
	case writes:
		s.clear()
	case reads:
		s.reader[p] = 0
		s.till = 0
		for _, till := range s.reader {
			s.till = max(s.till, till)
		}
		if s.till <= s.now {
			s.clear()
		}
	}
	s.place[p] = 0
	s.handOver(m)
}

// refresh is refresh.lua.
func (s *state) refresh(m *program, p int) bool {
	switch s.has(p) {
	case writes:
		s.till = s.now + m.roles[p].ttl
	case reads:
		s.lease(m, p, s.now+m.roles[p].ttl)
	default:
		return false
	}
	return true
}

// What comes of a conversion.
type conversion int8

const (
	done conversion = iota
	refused
	notOurs
)

// convert is convert.lua.
func (s *state) convert(m *program, p int, as mode) conversion {
	switch {
	case s.has(p) == free:
		return notOurs
	case s.look(m, p, as):
		return refused
	}
	s.give(m, p, as)
	if m.without != downTells {
		s.handOver(m)
	}
	return done
}

// handOver lets those at the front of the line have the key, as far as they can, and tells the first of the others when to ask.
func (s *state) handOver(m *program) {
	s.settle()
	for p := s.first(); p >= 0 && !s.look(m, p, m.roles[p].wants); p = s.first() {
		s.place[p] = 0
		s.give(m, p, m.roles[p].wants)
		if c := &s.procs[p]; c.phase == waiting {
			c.granted, c.grantTill = m.roles[p].wants, s.now+m.roles[p].ttl
		}
		s.settle()
		if m.roles[p].wants == writes || m.without == together {
			break
		}
	}
	if p := s.first(); p >= 0 && s.till > 0 && s.procs[p].phase == waiting {
		s.procs[p].head = s.till
	}
}
