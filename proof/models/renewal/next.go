package renewal

import "github.com/seed-14de3678/redislock/proof/models/explore"

// A visitor visits what follows a state.
type visitor func(e explore.Event, n state)

// next visits every state that one step leads to.
func (m *program) next(s state, visit func(explore.Event, state)) {
	v := visitor(func(e explore.Event, n state) {
		n.settle()
		visit(e, n)
	})
	for h := range handles {
		m.callers(s, int8(h), v)
	}
	for i, r := range s.requests {
		if r.kind != none {
			m.network(s, i, v)
		}
	}
	if s.server.owner == nobody && s.granted == 0 {
		n := s
		n.granted = s.now + 3
		n.server.owner, n.server.till = theirs, n.granted
		v(explore.Step("somebody else obtains the key"), n)
	}
	m.tick(s, v)
}

// tick has time pass. Before a deadline comes the watch looks at it.
func (m *program) tick(s state, v visitor) {
	if s.now == m.last {
		return
	}
	for i, h := range s.handles {
		if h.is == held && h.deadline == s.now+1 && m.without != alarm {
			n := s
			n.lose(m, &n.handles[i])
			v(explore.Step("the deadline of lock %d comes", i), n)
			return
		}
	}
	n := s
	n.now++
	n.expire()
	v(explore.Step("tick to %d", int(n.now)), n)
}

// callers has what is done with a lock.
func (m *program) callers(s state, h int8, v visitor) {
	its := s.handles[h]
	switch {
	case its.is == unused:
		return
	case its.clearing:
		n := s
		if !s.underWay(h, cleanup) && n.send(m, request{kind: cleanup, handle: h, left: true}) {
			v(explore.Step("the clean-up of lock %d sends", int(h)), n)
		}
		return
	case its.is == held:
		m.renews(s, h, v)
		m.refreshes(s, h, v)
	}
	if m.releases && its.is != released && (!m.second || h == 1) {
		n := s
		n.handles[h].is = released
		if n.send(m, request{kind: release, handle: h}) {
			v(explore.Step("lock %d is released", int(h)), n)
		}
	}
}

func (s *state) underWay(h int8, k kind) bool {
	for _, r := range s.requests {
		if r.kind == k && r.handle == h {
			return true
		}
	}
	return false
}

func (m *program) renews(s state, h int8, v visitor) {
	its := s.handles[h]
	if s.left.renewals == 0 || its.deadline == 0 {
		return
	}
	n := s
	n.left.renewals--
	if n.send(m, request{kind: renewal, handle: h, ttl: its.ttl, longer: true}) {
		v(explore.Step("lock %d sends a renewal to %d", int(h), int(its.ttl)), n)
	}
}

func (m *program) refreshes(s state, h int8, v visitor) {
	its := s.handles[h]
	if s.left.refreshes == 0 || its.pending > 0 {
		return
	}
	ttls := m.ttls
	if m.second {
		ttls = [2]int8{m.ttl} // one that shortens nothing
	}
	for _, ttl := range ttls {
		if ttl == 0 {
			continue
		}
		n := s
		n.left.refreshes--
		n.begin(m, h, ttl)
		r := request{kind: refresh, handle: h, ttl: ttl}
		r.longer = !m.second && its.longest <= ttl
		if n.send(m, r) {
			v(explore.Step("lock %d sends a Refresh to %d", int(h), int(ttl)), n)
		}
	}
}

// network has what happens to a request.
func (m *program) network(s state, i int, v visitor) {
	r := s.requests[i]
	about := [2]int{int(r.kind), int(r.handle)}
	if r.reply == flies {
		n := s
		n.requests[i].reply = n.run(m, &n.requests[i])
		v(explore.Step("request %d of kind %d of lock %d is executed", i, about[0], about[1]), n)
	} else {
		n := s
		n.requests[i] = request{}
		n.takeIn(m, r)
		v(explore.Step("request %d of kind %d of lock %d is answered", i, about[0], about[1]), n)
	}
	if s.left.losses == 0 {
		return
	}
	if r.reply == flies && !r.left && r.kind != renewal {
		n := s
		n.left.losses--
		n.requests[i].left = true
		n.goes(m, r)
		v(explore.Step("nobody waits for request %d of kind %d of lock %d any more", i, about[0], about[1]), n)
	}
	n := s
	n.left.losses--
	n.requests[i] = request{}
	if !r.left {
		n.goes(m, r)
	}
	v(explore.Step("request %d of kind %d of lock %d, or its reply, is lost", i, about[0], about[1]), n)
}

// goes has the caller of a request go without an answer.
func (s *state) goes(m *program, r request) {
	s.unanswered(r)
	h := &s.handles[r.handle]
	switch r.kind {
	case refresh:
		h.pending = 0
		s.change(r.handle)
	case release:
		h.clearing = m.without != goesOn
	}
}
