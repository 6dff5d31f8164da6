package lease

import "github.com/seed-14de3678/redislock/proof/models/explore"

// ticks lets a tick pass, for each way in which clocks may stand still meanwhile. It does not pass before clients that are
// not paused have been told what they have to be told by then.
func (m model) ticks(s *state, visit func(explore.Event, state)) {
	if m.without != onAnswer {
		for i := range s.client {
			if c := &s.client[i]; !c.paused && c.isAlarmed() {
				return
			}
		}
	}
	for still := range 1 << clients {
		n := *s
		if n.pass(m, still) {
			visit(explore.Step("a tick; the clocks of the clients of %d (one bit for each) stand still", still), n)
		}
	}
}

// isAlarmed reports whether the loss is to be told: a tick before the deadline, at the latest.
func (c *client) isAlarmed() bool { return c.phase == holds && c.left <= 1 }

// pass lets a tick pass. It returns false if a clock that is to stand still may not, or need not, because that changes nothing.
func (s *state) pass(m model, still int) bool {
	for i := range s.client {
		c, token := &s.client[i], s.token(i)
		if still>>i&1 == 0 {
			c.tick(token, &s.wrong)
		} else if !c.standsStill(m, token) {
			return false
		}
	}
	s.server.tick(m)
	return true
}

// standsStill has the clock of a client stand still for a tick. It returns false if it measures nothing, or has stood still
// already during something that it measures.
func (c *client) standsStill(m model, token int8) bool {
	measures := false
	if c.phase == asked || c.phase == granted || c.inWindow() {
		if c.slow && m.without != drifts {
			return false
		}
		c.slow, measures = true, true
	}
	for i := range c.renewals {
		if r := &c.renewals[i]; r.stage != empty && r.token == token {
			if r.slow && m.without != drifts {
				return false
			}
			r.slow, measures = true, true
		}
	}
	return measures
}

// tick lets time pass for a client, whose hold has a token.
func (c *client) tick(token int8, wrong *wrong) {
	if c.phase == asked || c.phase == granted {
		c.age = min(c.age+1, life)
	}
	for i := range c.renewals {
		if r := &c.renewals[i]; r.stage != empty && r.token == token {
			r.age = min(r.age+1, life)
		}
	}
	if !c.inWindow() {
		return
	}
	c.left--
	if c.left == 0 {
		c.ended = true
		if !c.paused {
			*wrong = toldLate
		}
	}
}
