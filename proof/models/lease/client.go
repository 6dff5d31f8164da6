package lease

import (
	"slices"

	"github.com/seed-14de3678/redislock/proof/models/explore"
)

// next visits every state that can follow.
func (m model) next(s state, visit func(explore.Event, state)) {
	for who := range clients {
		m.travels(&s, who, visit)
		c := &s.client[who]
		n := s
		n.client[who].paused = !c.paused
		if c.paused {
			visit(explore.Step("client %d goes on", who), n)
			continue
		}
		if c.isAlarmed() {
			visit(explore.Step("client %d is paused", who), n)
		}
		m.acts(&s, who, visit)
	}
	m.faults(&s, visit)
	m.ticks(&s, visit)
}

// faults are those of the server.
func (m model) faults(s *state, visit func(explore.Event, state)) {
	if s.back {
		n := *s
		n.back, n.server.slow = false, true
		if n.server.holder != 0 {
			n.server.left = life + 1 // longer than it was
		}
		visit(explore.Step("the server's clock goes back"), n)
	}
	if s.server.holder != 0 && m.without == jumps {
		n := *s
		n.server.free(m)
		visit(explore.Step("the server's clock jumps ahead, and the lease is over"), n)
	}
	if s.lost || m.without == loses && s.server.holder != 0 {
		n := *s
		n.lost = false
		n.server.free(m)
		n.server.last = 0
		visit(explore.Step("the server loses its data"), n)
	}
}

// acts is the steps of a client that is not paused.
func (m model) acts(s *state, who int, visit func(explore.Event, state)) {
	c := &s.client[who]
	switch {
	case c.looked:
		m.puts(s, who, visit)
	case c.phase == idle && c.round < m.rounds[who]:
		n := *s
		n.client[who].begin(m)
		visit(explore.Step("client %d sends an Obtain", who), n)
	case c.phase == asked || c.phase == granted:
		m.waits(s, who, visit)
	case c.phase == holds:
		m.holding(s, who, visit)
	case c.phase == gone && c.freeing == 0:
		n := *s
		n.client[who].freeing = s.token(who)
		n.client[who].end()
		visit(explore.Step("client %d, which was told of its loss, releases", who), n)
	}
	m.hears(s, who, visit)
}

// begin begins an Obtain.
func (c *client) begin(m model) {
	c.phase, c.age, c.writes = asked, 0, m.writes
	c.round++
}

// end forgets the hold. What is under way of it is of no use any more.
func (c *client) end() {
	c.phase, c.age, c.left, c.slow, c.ended, c.number, c.hold, c.writes = idle, 0, 0, false, false, 0, 0, 0
	for i := range c.renewals {
		if r := &c.renewals[i]; r.stage == executed {
			*r = renewal{}
		} else {
			r.age, r.slow = 0, false
		}
	}
}

// waits takes in the answer of an Obtain, or gives it up.
func (m model) waits(s *state, who int, visit func(explore.Event, state)) {
	c := &s.client[who]
	if c.phase == granted {
		n := *s
		h := &n.client[who]
		if h.left = m.window(c.age); h.left > 0 {
			h.phase, h.age = holds, 0
			visit(explore.Step("client %d has the lock, for %d ticks", who, int(h.left)), n)
		}
	}
	if c.freeing == 0 {
		n := *s
		n.client[who].freeing = s.token(who)
		n.client[who].end()
		visit(explore.Step("client %d gives up, and releases", who), n)
	}
}

// window returns how much of the time is certain that a request has asked for at this age.
func (m model) window(age int8) int8 {
	if m.without == fromReply {
		age = 0
	}
	if m.without == noMargin {
		return max(0, life-age)
	}
	return max(0, life-margin-age)
}

// holding is what a client does that holds the lock, as far as it knows.
func (m model) holding(s *state, who int, visit func(explore.Event, state)) {
	c := &s.client[who]
	if c.isAlarmed() && m.without != onAnswer {
		n := *s
		n.client[who].phase = gone
		visit(explore.Step("client %d is told that the lock is lost", who), n)
	}
	if c.freeing == 0 {
		n := *s
		n.client[who].freeing = s.token(who)
		n.client[who].end()
		visit(explore.Step("client %d releases", who), n)
	}
	if i := slices.Index(c.renewals[:m.renewals[who]], renewal{}); i >= 0 && (i == 0 || c.renewals[0].stage != empty) {
		n := *s
		n.client[who].renewals[i] = renewal{stage: sent, token: s.token(who)}
		visit(explore.Step("client %d sends a renewal", who), n)
	}
	if c.writes > 0 {
		n := *s
		h := &n.client[who]
		h.writes--
		h.looked, h.about = true, write{stage: sent, number: c.number, hold: c.hold}
		visit(explore.Step("client %d looks: it holds the lock, with number %d", who, int(c.number)), n)
	}
}

// puts sends what a client is about to write.
func (m model) puts(s *state, who int, visit func(explore.Event, state)) {
	i := slices.Index(s.client[who].sent[:], write{})
	if i < 0 {
		return
	}
	n := *s
	c := &n.client[who]
	c.sent[i], c.looked, c.about = c.about, false, write{}
	c.sort()
	visit(explore.Step("client %d writes, with number %d", who, int(s.client[who].about.number)), n)
}

// hears takes in answers to renewals.
func (m model) hears(s *state, who int, visit func(explore.Event, state)) {
	for i, r := range s.client[who].renewals {
		if r.stage != executed {
			continue
		}
		n := *s
		c := &n.client[who]
		c.renewals[i] = renewal{}
		if r.token == s.token(who) {
			c.renewed(m, r, &n)
		}
		visit(explore.Step("client %d has the answer to a renewal, of age %d", who, int(r.age)), n)
	}
}

// renewed takes in that a renewal was executed.
func (c *client) renewed(m model, r renewal, s *state) {
	left := m.window(r.age)
	switch {
	case c.phase == gone && m.without == revives && left > 0:
		c.phase = holds
		s.wrong = goesOn
	case c.phase != holds, left <= c.left:
	case c.isAlarmed() && m.without != extendsLate && m.without != onAnswer:
	default:
		c.left, c.slow = left, r.slow
		if c.ended {
			s.wrong = goesOn
		}
	}
}
