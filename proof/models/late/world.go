package late

// world is what others do, and time.
func (m *model) world(s *state, visit func(state, event)) {
	if s.server.other != [keys]mode{} {
		n := *s
		n.server.other = [keys]mode{}
		n.server.handOver(m, ab) // of a set of both, of which it may have lost one
		visit(n, event{kind: otherReleases})
	}
	for i, taken := range s.server.taken {
		if taken != free {
			n := *s
			n.server.taken[i] = free // no script does that: whoever waits asks
			visit(n, event{kind: timeIsOver})
		}
	}
	if s.turns > 0 {
		m.others(s, visit)
	}
	if s.ticks > 0 {
		n := *s
		if n.tick(m) {
			visit(n, event{kind: timePasses})
		}
	}
	for p := range s.owner {
		if m.forgets(s, p) {
			n := *s
			n.owner[p] = owner{id: s.owner[p].id + 1, number: 1}
			visit(n, event{kind: forgets})
		}
	}
}

// others are the visits of other tokens.
func (m *model) others(s *state, visit func(state, event)) {
	for i := range keys {
		if m.readers.has(i) && s.server.mine[i].mode != writes && s.server.other[i] == free && s.server.taken[i] != writes {
			n := *s
			n.turns--
			n.server.other[i] = reads
			visit(n, event{kind: otherReads})
		}
	}
	if m.anotherWants != 0 && !s.server.stands(another, m.anotherWants) {
		n := *s
		n.turns--
		n.server.enter(another, m.anotherWants)
		n.server.handOver(m, m.anotherWants)
		visit(n, event{kind: otherWaits})
	}
	if m.broken == cutsShort || m.broken == dropsLiving {
		n := *s
		n.turns--
		n.server.spoil(m)
		visit(n, event{kind: otherLooks})
	}
}

// spoil is what scripts that know nothing of guards would do to them. Scripts that know guards leave them as they are.
func (s *server) spoil(m *model) {
	for i := range keys {
		for id := range ids {
			g := &s.guard[i][id]
			switch {
			case g.number == 0:
			case m.broken == dropsLiving:
				*g = guard{}
			default:
				g.left = min(g.left, 1)
			}
		}
	}
}

// tick lets time pass. It returns false if it cannot: a request that is waited for has to be executed, or
// given up, as long as it is not later than the model has any.
func (s *state) tick(m *model) bool {
	for i := range s.call {
		c := &s.call[i]
		if c.phase == sent && c.request.age >= m.lateness {
			return false
		}
		if c.underWay() {
			c.request.age++
		}
		for k := range keys {
			if c.limit[k].left < most.left {
				c.limit[k].left--
				c.limit[k] = c.limit[k].within(most)
			}
		}
	}
	for i, r := range s.late {
		if r == (request{}) {
			continue
		}
		s.late[i].age++
		if r.age >= m.lateness {
			s.late[i] = request{}
		}
	}
	s.sortLate()
	for h := range s.hold {
		s.hold[h].tick()
	}
	for p := range s.owner {
		s.owner[p].guards = max(0, s.owner[p].guards-1)
	}
	s.server.tick()
	s.ticks--
	return true
}

// tick lets time pass for a hold. A clean-up that nobody has answered by then is given up.
func (h *hold) tick() {
	for k := range keys {
		h.counts[k].left--
		h.counts[k] = h.counts[k].within(most)
	}
	if h.until--; h.until <= 0 {
		h.left, h.unclean, h.until = 0, false, 0
	}
}

// forgets reports whether an owner may begin anew: nothing is outstanding, and no guard of it can live.
func (m *model) forgets(s *state, p int) bool {
	o := &s.owner[p]
	if m.ticks == 0 || o.number == 1 || int(o.id) == ids-1 {
		return false
	}
	if m.broken == forgetsSoon {
		return true
	}
	for i := range s.call {
		if s.call[i].phase != idle && int(m.process[s.call[i].request.hold]) == p {
			return false
		}
	}
	return o.guards == 0 && o.open[0] == entry{}
}
