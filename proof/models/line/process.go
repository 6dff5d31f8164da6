package line

import "github.com/seed-14de3678/redislock/proof/models/explore"

// next visits every state that one step leads to.
func (m *program) next(s state, visit func(explore.Event, state)) {
	for p := range procs {
		if m.wants[p] == (want{}) {
			continue
		}
		v := stepper{m, p, s, visit}
		switch s.procs[p].phase {
		case absent:
			v.do("process %d comes and asks", func(_ *state, c *process) { c.phase, c.ask = waiting, asked })
		case waiting:
			v.waits()
		case holding:
			v.holds()
		case releasing:
			v.do("the release of %d is executed", func(n *state, c *process) {
				c.late, c.phase = false, over
				m.script(n, p).release(p, releases)
			})
		case cleaning:
			v.do("the clean-up of %d is executed", func(n *state, c *process) {
				c.late, c.phase = m.without == closes && c.late, gone
				m.script(n, p).release(p, givesUp)
			})
		}
		v.server()
	}
}

// A stepper visits the steps of one process.
type stepper struct {
	m     *program
	p     int
	s     state
	visit func(explore.Event, state)
}

func (v *stepper) do(what string, change func(n *state, c *process)) {
	n := v.s
	change(&n, &n.procs[v.p])
	n.settle()
	v.visit(explore.Step(what, v.p), n)
}

// spend is do for what may happen so often.
func (v *stepper) spend(left func(b *budget) *int8, what string, change func(n *state, c *process)) {
	if *left(&v.s.left) == 0 {
		return
	}
	v.do(what, func(n *state, c *process) {
		*left(&n.left)--
		change(n, c)
	})
}

// waits has the steps of a waiter.
func (v *stepper) waits() {
	m, p, c := v.m, v.p, v.s.procs[v.p]
	switch c.ask {
	case quiet:
		v.hears()
		v.asksAgain()
	case asked:
		v.isAsked()
		v.spend(answers, "the request of %d gets no answer, and may come late", func(_ *state, c *process) {
			c.ask, c.late, c.timer = quiet, true, true
		})
	default:
		v.do("%d takes in the reply", func(_ *state, c *process) { c.takeIn() })
		v.spend(answers, "the reply to %d is lost", func(_ *state, c *process) { c.ask, c.timer = quiet, true })
	}
	v.spend(cancels, "%d gives up", func(_ *state, c *process) {
		c.late = c.late || c.ask == asked
		c.ask, c.phase = quiet, cleaning
		if m.without == cleansUp {
			c.phase = gone
		}
	})
	v.dies()
	if !v.s.deaf.has(p) {
		v.spend(cuts, "%d hears nothing any more", func(n *state, c *process) { n.deaf, c.mail = n.deaf|one(p), 0 })
	} else {
		v.do("%d hears again, and is to ask", func(n *state, c *process) { n.deaf, c.timer = n.deaf&^one(p), true })
	}
	if v.s.entries[p].lines != 0 && !v.s.entries[p].ended {
		v.spend(pauses, "%d has been silent for too long", func(n *state, _ *process) { n.entries[p].ended = true })
	}
}

// hears has the steps of a waiter that takes in what it was told.
func (v *stepper) hears() {
	for _, what := range []uint8{wake, head, grant} {
		if v.s.procs[v.p].mail&what == 0 {
			continue
		}
		switch what {
		case wake:
			v.do("%d hears that it is to ask, and asks", func(_ *state, c *process) { c.mail, c.ask = c.mail&^wake, asked })
		case head:
			v.do("%d hears when the lease before it is over", func(_ *state, c *process) { c.mail, c.timer = c.mail&^head, true })
		case grant:
			v.do("%d hears that it was granted the lock", func(_ *state, c *process) { c.phase = holding })
		}
		v.spend(messages, "a message to %d is lost", func(_ *state, c *process) { c.mail &^= what })
	}
}

// asksAgain has the steps of a waiter that has heard nothing.
func (v *stepper) asksAgain() {
	if v.s.procs[v.p].timer {
		v.do("it is time for %d to ask", func(_ *state, c *process) { c.timer, c.ask = false, asked })
	}
	if v.m.without == asksAgain {
		return
	}
	if v.m.asks {
		v.do("%d asks as it does every now and then, and is answered", v.asksNow)
	}
	if v.m.rounds && v.s.procs[v.p].knows {
		v.do("a round asks for %d", func(n *state, c *process) {
			if now, later := v.m.script(n, v.p).again(v.p); now {
				v.asksNow(n, c)
			} else if later {
				c.timer = true
			}
		})
	}
}

func (v *stepper) asksNow(n *state, c *process) {
	v.execute(n, c, false)
	c.takeIn()
}

// execute executes the request of the waiter.
func (v *stepper) execute(n *state, c *process, back bool) {
	c.late = false
	c.ask = v.m.script(n, v.p).ask(v.p, back)
}

func (v *stepper) isAsked() {
	v.do("the request of %d is executed", func(n *state, c *process) { v.execute(n, c, false) })
	if v.s.entries[v.p].place == 0 {
		v.spend(steps, "the server's clock is set back, and the request of %d is executed", func(n *state, c *process) {
			v.execute(n, c, true)
		})
	}
}

// takeIn takes in a reply.
func (c *process) takeIn() {
	switch c.ask {
	case granted:
		c.phase = holding
	case tooLate:
		c.timer = true
	case firstIn:
		c.timer, c.knows = true, true
	default:
		c.knows = true
	}
	c.ask = quiet
}

// holds has the steps of a holder.
func (v *stepper) holds() {
	v.do("%d releases", func(_ *state, c *process) { c.phase = releasing })
	v.spend(ends, "%d is not renewed, and knows that its lease is about to end", func(_ *state, c *process) { c.phase = over })
	v.dies()
}

func (v *stepper) dies() {
	v.spend(kills, "%d is killed", func(_ *state, c *process) {
		c.late = c.late || c.ask == asked
		c.phase, c.ask = dead, quiet
	})
}

// server has what happens to a process at the server by itself.
func (v *stepper) server() {
	p, c := v.p, v.s.procs[v.p]
	if c.late {
		v.do("a request of %d for whose answer nobody waits is executed", func(n *state, c *process) {
			v.m.script(n, p).ask(p, false)
			c.late = false
		})
	}
	if c.phase == dead && !v.s.deaf.has(p) {
		v.do("the connection of %d is gone", func(n *state, _ *process) { n.deaf |= one(p) })
	}
	if (c.phase == dead || v.m.without == cleansUp && c.phase == gone) && v.s.entries[p].lines != 0 && !v.s.entries[p].ended {
		v.do("%d has been silent for too long", func(n *state, _ *process) { n.entries[p].ended = true })
	}
	if !v.s.holds(p) {
		return
	}
	expire := func(n *state, c *process) {
		n.free(p)
		if v.m.without == ended {
			return
		}
		if c.ask == granted {
			c.ask = tooLate
		}
		if c.mail&grant != 0 {
			c.mail = c.mail&^grant | wake
		}
	}
	switch c.phase {
	case dead, over, gone:
		v.do("the lease of %d ends", expire)
	case waiting:
		v.spend(ends, "the lease of %d ends, before it knows of it", expire)
	}
}

func messages(b *budget) *int8 { return &b.messages }
func answers(b *budget) *int8  { return &b.answers }
func kills(b *budget) *int8    { return &b.kills }
func cuts(b *budget) *int8     { return &b.cuts }
func pauses(b *budget) *int8   { return &b.pauses }
func cancels(b *budget) *int8  { return &b.cancels }
func ends(b *budget) *int8     { return &b.ends }
func steps(b *budget) *int8    { return &b.steps }
