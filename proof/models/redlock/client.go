package redlock

import "github.com/seed-14de3678/redislock/proof/models/explore"

// next visits every state that can follow.
func (m model) next(s state, visit func(explore.Event, state)) {
	for i := range s.column[:m.nodes] {
		if i > 0 && s.column[i] == s.column[i-1] {
			continue // the same
		}
		if s.column[i].node.down {
			continue
		}
		for who := range clients {
			m.executes(&s, i, who, visit)
			m.hears(&s, i, who, visit)
		}
		m.faults(&s, i, visit)
	}
	for who := range clients {
		m.acts(&s, who, visit)
	}
	if m.life > 0 {
		n := s
		n.tick(m)
		visit(explore.Step("a tick"), n)
	}
}

// acts is the steps of a client that concern all nodes.
func (m model) acts(s *state, who int, visit func(explore.Event, state)) {
	c := &s.client[who]
	switch c.phase {
	case idle:
		if c.attempts > 0 {
			n := *s
			n.begin(m, who)
			visit(explore.Step("client %d asks all nodes", who), n)
		}
	case asking:
		if s.count(who, has) >= m.need() {
			n := *s
			n.decide(m, who)
			visit(explore.Step("client %d has a majority", who), n)
		}
	case raising:
		if s.count(who, has) >= m.raised() {
			n := *s
			n.obtain(m, who)
			visit(explore.Step("client %d has written number %d back", who, int(c.number)), n)
		}
	case holds:
		said := "client %d releases"
		if s.left(m, who) == 0 && m.life > 0 {
			said = "client %d has lost the lock, and releases what is left"
		}
		n := *s
		n.discard(m, who, true)
		visit(explore.Step(said, who), n)
	}
	if (c.phase == asking || c.phase == raising) && m.mayGiveUp(s, who) {
		n := *s
		n.discard(m, who, false)
		visit(explore.Step("client %d gives up", who), n)
	}
}

// mayGiveUp reports whether a client may do so now. A patient one knows which nodes are down.
func (m model) mayGiveUp(s *state, who int) bool {
	if !m.patient {
		return true
	}
	hopes := 0
	for i := range s.column[:m.nodes] {
		c := &s.column[i].cell[who]
		if c.holds() || (c.stage == asks || c.stage == granted) && !s.column[i].node.down {
			hopes++
		}
	}
	return hopes < m.need()
}

// raised is how many nodes have to have the number.
func (m model) raised() int {
	if m.without == fewRaised {
		return m.need() - 1
	}
	return m.need()
}

// begin asks all nodes for the lock, but those at which something is under way still.
func (s *state) begin(m model, who int) {
	c := &s.client[who]
	c.phase, c.number, c.refreshed, c.floor = asking, 0, false, s.top
	c.attempts--
	for i := range s.column[:m.nodes] {
		if l := &s.column[i].cell[who]; l.stage == nothing || l.stage == refused {
			*l = cell{stage: asks}
		}
	}
	s.sort(m)
}

// decide takes in that a majority has granted the lock.
func (s *state) decide(m model, who int) {
	c := &s.client[who]
	c.number = s.chosen(m, who)
	if !m.fenced || m.without == noWriteBack {
		s.obtain(m, who)
		return
	}
	c.phase = raising
	for i := range s.column[:m.nodes] {
		if l := &s.column[i].cell[who]; l.stage == has {
			l.stage = raises
		}
	}
	s.sort(m)
}

// chosen returns the greatest number of those that the nodes have given to a client.
func (s *state) chosen(m model, who int) (number int8) {
	for i := range s.column[:m.nodes] {
		l := &s.column[i].cell[who]
		switch {
		case l.stage != has:
		case m.without == anyNumber && number > 0:
			number = min(number, l.number)
		default:
			number = max(number, l.number)
		}
	}
	return number
}

// obtain returns the lock to the caller, unless its time is over.
func (s *state) obtain(m model, who int) {
	c := &s.client[who]
	if m.life > 0 && s.left(m, who) == 0 {
		s.discard(m, who, false)
		return
	}
	c.phase, c.obtained = holds, true
	if m.fenced {
		s.wrong = c.number <= c.floor
		s.top = max(s.top, c.number)
	}
	for i := range s.column[:m.nodes] {
		s.column[i].cell[who].number = 0 // known
	}
	s.sort(m)
}

// discard releases what a client has, everywhere: because it was held until now, or because it is too little.
func (s *state) discard(m model, who int, held bool) {
	c := &s.client[who]
	c.phase, c.number, c.refreshed = idle, 0, false
	for i := range s.column[:m.nodes] {
		l := &s.column[i].cell[who]
		knows := l.holds()
		switch {
		case l.stage == nothing, l.stage == refused, l.stage == frees, l.stage == strays:
			if l.stage == refused {
				*l = cell{}
			}
		case !held && m.without == notUndone:
			*l = cell{}
		case !held && m.without == grantedOnly && l.stage == asks:
			*l = cell{stage: strays}
		case !held && m.without == grantedOnly && !knows:
			*l = cell{}
		default: // an Obtain under way is not executed behind it
			*l = cell{stage: frees}
			if n := &s.column[i].node; m.quick && !n.down {
				s.run(m, n, call{script: release, who: int8(who)})
				*l = cell{}
			}
		}
	}
	s.sort(m)
}

// hears visits what a client does with one node: it takes in an answer, renews the lease there, or asks for the lock again.
func (m model) hears(s *state, i, who int, visit func(explore.Event, state)) {
	n := *s
	c, l := &n.client[who], &n.column[i].cell[who]
	said := ""
	switch {
	case l.stage == granted:
		said = "the grant of node %d comes to client %d"
		m.joins(&n, l, who)
	case l.stage == renewed:
		said = "node %d has renewed the lease of client %d"
		l.stage, l.left, l.age = has, max(l.left, m.window(l.age)), 0
		c.refreshed = true
	case c.phase == holds && m.renews && l.stage == has && l.left < m.life:
		said = "node %d is to renew the lease of client %d"
		l.stage = renews
	case c.phase == holds && m.regains && (l.stage == nothing || l.stage == refused) && s.left(m, who) > 0:
		said = "node %d is asked again by client %d"
		*l = cell{stage: asks}
	default:
		return
	}
	n.sort(m)
	visit(explore.Step(said, i, who), n)
}

// joins takes in a grant. One that comes too late is given back.
func (m model) joins(s *state, l *cell, who int) {
	c := &s.client[who]
	left := m.window(l.age)
	switch {
	case m.life > 0 && (left == 0 || c.phase == holds && s.left(m, who) == 0):
		*l = cell{stage: frees}
	case m.fenced && c.phase != asking:
		*l = cell{stage: raises, left: left}
	default:
		*l = cell{stage: has, left: left, number: l.number}
	}
}
