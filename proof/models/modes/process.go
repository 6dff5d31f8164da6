package modes

import "github.com/seed-14de3678/redislock/proof/models/explore"

const (
	pause = 1 // ticks between two attempts of one that polls
	tries = 3 // attempts

	passes = "time passes, to %d"
)

// A visitor visits what follows a state.
type visitor func(what string, p int, change func(n *state, c *process))

// next visits every state that one step leads to.
func (m *program) next(s state, visit func(explore.Event, state)) {
	v := func(what string, p int, change func(n *state, c *process)) {
		n := s
		change(&n, &n.procs[p])
		n.settle()
		if what == passes {
			visit(explore.Step(what, int(n.now)), n)
		} else {
			visit(explore.Step(what, p), n)
		}
	}
	for p, role := range m.roles {
		if role.wants == free {
			continue
		}
		switch c := s.procs[p]; c.phase {
		case absent:
			v("%d comes, and asks", p, func(n *state, c *process) {
				c.phase = waiting
				m.ask(n, p)
			})
		case waiting:
			m.waits(s, p, v)
		case holding, insisting:
			m.holds(s, p, v)
		}
		if live := s.procs[p].phase; s.kills > 0 && (live == waiting && role.way != queues || live == holding) {
			v("%d is killed", p, func(n *state, c *process) {
				n.kills--
				c.phase = dead
			})
		}
	}
	m.tick(s, v)
}

// ask has a process ask, and take in the answer.
func (m *program) ask(n *state, p int) {
	c := &n.procs[p]
	if m.roles[p].way != queues {
		c.asked++
	}
	c.askAt = 0
	last := c.asked == tries
	switch {
	case n.run(m, call{script: obtain, p: int8(p), last: last}) == done:
		n.hold(m, p, m.roles[p].wants, n.now+m.roles[p].ttl)
	case last:
		c.phase = gone
	case m.roles[p].way != queues:
		c.askAt = n.now + pause
	}
}

func (s *state) hold(m *program, p int, as mode, deadline int8) {
	s.procs[p] = process{phase: holding, mode: as, deadline: deadline, converted: !m.roles[p].converts}
}

// waits has the steps of one that waits.
func (m *program) waits(s state, p int, v visitor) {
	c := s.procs[p]
	switch {
	case c.granted != free && s.now < c.grantTill:
		v("%d hears that it was granted the key", p, func(n *state, c *process) { n.hold(m, p, c.granted, c.grantTill) })
	case c.granted != free:
		v("%d hears too late that it was granted the key, and asks", p, func(n *state, c *process) {
			c.granted = free
			m.ask(n, p)
		})
	case c.head > 0:
		v("%d hears when the lease before it is over", p, func(_ *state, c *process) {
			if c.askAt == 0 || c.askAt > c.head {
				c.askAt = c.head
			}
			c.head = 0
		})
	case c.askAt > 0 && s.now >= c.askAt:
		v("%d asks again", p, func(n *state, _ *process) { m.ask(n, p) })
	}
	if m.roles[p].way == queues {
		v("%d gives up, and leaves the line", p, func(n *state, c *process) {
			c.phase = gone
			n.run(m, call{script: release, p: int8(p)})
		})
	}
}

// holds has the steps of a holder.
func (m *program) holds(s state, p int, v visitor) {
	c := s.procs[p]
	if c.phase == holding {
		v("%d releases", p, func(n *state, c *process) {
			c.phase = over
			n.run(m, call{script: release, p: int8(p)})
		})
	}
	if !c.refreshed {
		v("%d refreshes", p, func(n *state, c *process) {
			c.refreshed = true
			if n.run(m, call{script: refresh, p: int8(p)}) != done {
				c.phase = over
				return
			}
			c.deadline = n.now + m.roles[p].ttl
		})
	}
	if c.converted && c.phase != insisting {
		return
	}
	as, what := writes, "%d upgrades"
	if m.roles[p].wants == writes {
		as, what = reads, "%d downgrades"
	}
	v(what, p, func(n *state, c *process) {
		c.converted = true
		m.takeIn(n, p, as, n.run(m, call{script: convert, p: int8(p), as: as}))
	})
	if s.losses > 0 {
		v(what+", and hears no answer", p, func(n *state, c *process) {
			n.losses--
			c.converted = true
			n.run(m, call{script: convert, p: int8(p), as: as})
			if m.without != believes {
				c.mode = reads // it may have the key in one mode or the other
			}
		})
	}
}

// takeIn takes in the answer to a conversion.
func (m *program) takeIn(n *state, p int, as mode, its reply) {
	c := &n.procs[p]
	switch its {
	case done:
		c.phase, c.mode, c.deadline = holding, as, n.now+m.roles[p].ttl
	case refused:
		if m.without == oneAttempt {
			c.phase = insisting
		}
	case notOurs:
		c.phase = over
	}
}

// tick has time pass, unless somebody is to hear or to ask at this moment.
func (m *program) tick(s state, v visitor) {
	if s.now == m.last {
		return
	}
	for _, c := range s.procs {
		if c.phase == waiting && (c.head > 0 || c.granted == free && c.askAt > 0 && s.now >= c.askAt) {
			return
		}
	}
	v(passes, 0, func(n *state, _ *process) {
		n.now++
		n.expire()
		for p := range procs {
			if c := &n.procs[p]; c.phase == holding && n.now >= c.deadline {
				c.phase = over
			}
		}
	})
}
