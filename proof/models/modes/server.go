package modes

// A script is one that the server executes.
type script int8

const (
	obtain script = iota // obtain.lua and rw.lua
	refresh
	convert
	release // also of one that gives up
)

// A call is one run of a script.
type call struct {
	script script
	p      int8
	as     mode // of a conversion
	last   bool // of an Obtain: the process does not ask again
}

// A reply is what a script says.
type reply int8

const (
	done reply = iota
	refused
	notOurs
)

// run executes a script.
func (s *state) run(m *program, c call) reply {
	if m.ran != nil {
		m.ran(m, *s, c)
	}
	return s.execute(m, c)
}

func (s *state) execute(m *program, c call) reply {
	p := int(c.p)
	switch c.script {
	case refresh:
		return s.refresh(m, p)
	case convert:
		return s.convert(m, p, c.as)
	case release:
		return s.release(m, p)
	default:
		return s.obtain(m, p, c.last)
	}
}

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

// obtain is obtain.lua and rw.lua.
func (s *state) obtain(m *program, p int, last bool) reply {
	role := m.roles[p]
	inTheWay := s.look(m, p, role.wants)
	if !inTheWay && s.has(p) == free {
		inTheWay = s.before(m, p) || role.wants == reads && role.way == polls && s.intent > 0 && m.without != intentless
	}
	if !inTheWay {
		stood := s.place[p] > 0
		if s.has(p) == free {
			s.judge(m, p)
		}
		s.place[p] = 0
		s.give(m, p, role.wants)
		s.withdraw(p)
		if stood {
			s.handOver(m, handing{tells: true, held: s.now + role.ttl})
		}
		return done
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
	return refused
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
func (s *state) release(m *program, p int) reply {
	its, h := done, handing{tells: s.place[p] > 0}
	switch s.has(p) {
	case writes:
		s.clear()
	case reads:
		h.tells = true
		s.reader[p] = 0
		s.till = 0
		for _, till := range s.reader {
			s.till = max(s.till, till)
		}
		if s.till <= s.now {
			s.clear()
		}
	default:
		its = notOurs
	}
	s.place[p] = 0
	s.settle()
	if q := s.first(); m.without == leftFree && q >= 0 && its == notOurs && s.till == 0 &&
		m.roles[p].wants == reads && m.roles[q].wants == reads {
		return its
	}
	s.handOver(m, h)
	return its
}

// refresh is refresh.lua.
func (s *state) refresh(m *program, p int) reply {
	switch s.has(p) {
	case writes:
		s.till = s.now + m.roles[p].ttl
	case reads:
		s.lease(m, p, s.now+m.roles[p].ttl)
	default:
		return notOurs
	}
	return done
}

// convert is lua/convert.lua.
func (s *state) convert(m *program, p int, as mode) reply {
	switch {
	case s.has(p) == free:
		return notOurs
	case s.look(m, p, as):
		return refused
	}
	s.give(m, p, as)
	h := handing{tells: true}
	if as == writes {
		h.held = s.till
	}
	if m.without != downTells {
		s.handOver(m, h)
	}
	return done
}

// A handing is what a script knows when it hands over.
type handing struct {
	tells bool // the lease before the first in line may have changed
	held  int8 // until when the key is held at least, because the script has given it to somebody; 0: it has not
}

// handOver lets those at the front of the line have the key, as far as they can, and tells the first of the others when to ask:
// when the key ends, or sooner, if the script knows of a lease that is over sooner.
func (s *state) handOver(m *program, h handing) {
	s.settle()
	for p := s.first(); p >= 0 && !s.look(m, p, m.roles[p].wants); p = s.first() {
		s.place[p] = 0
		s.give(m, p, m.roles[p].wants)
		till := s.now + m.roles[p].ttl
		h = handing{tells: true, held: max(h.held, till)}
		if c := &s.procs[p]; c.phase == waiting {
			c.granted, c.grantTill = m.roles[p].wants, till
		}
		s.settle()
		if m.roles[p].wants == writes || m.without == together {
			break
		}
	}
	if h.held == 0 {
		h.held = s.till
	}
	if p := s.first(); p >= 0 && h.tells && s.till > 0 && s.procs[p].phase == waiting {
		s.procs[p].head = h.held
	}
}
