package local

import (
	"strings"

	"github.com/seed-14de3678/redislock/proof/models/explore"
)

// A stepper visits the states that follow one, by what a caller does.
type stepper struct {
	m     *program
	p     int
	s     state
	visit func(explore.Event, state)
}

// do visits what follows when something is done with a copy of the state.
func (v *stepper) do(format string, change func(x *script, c *caller)) {
	n := v.s
	n.wrong = right
	change(&script{&n, v.m}, &n.callers[v.p])
	n.settle(v.m.without == leaves)
	if strings.Contains(format, "%") {
		v.visit(explore.Step(format, v.p), n)
		return
	}
	v.visit(explore.Step(format), n)
}

// spend does something that may happen a few times only.
func (v *stepper) spend(of func(*budget) *int8, format string, change func(x *script, c *caller)) {
	if *of(&v.s.left) == 0 {
		return
	}
	v.do(format, func(x *script, c *caller) {
		*of(&x.left)--
		change(x, c)
	})
}

func losses(b *budget) *int8  { return &b.losses }
func cancels(b *budget) *int8 { return &b.cancels }
func pauses(b *budget) *int8  { return &b.pauses }
func slow(b *budget) *int8    { return &b.slow }
func ends(b *budget) *int8    { return &b.ends }
func full(b *budget) *int8    { return &b.full }
func steps(b *budget) *int8   { return &b.steps }

// next visits every state that one step leads to.
func (m *program) next(s state, visit func(explore.Event, state)) {
	for p := range m.roles {
		v := stepper{m, p, s, visit}
		switch s.callers[p].phase {
		case absent:
			v.do("%d comes", func(x *script, c *caller) {
				x.clock++
				c.phase, c.arrived = local, x.clock
			})
		case local, carried, asking, standing:
			v.waits()
			v.gives()
		case paused:
			if s.callers[p].granted {
				v.do("%d hears that it has its keys, although it pauses", func(_ *script, c *caller) { c.phase = holding })
			}
		case holding:
			v.do("%d releases", func(x *script, c *caller) { v.release(x, c) })
			v.spend(ends, "the lease of %d ends in its hands", func(x *script, c *caller) {
				c.phase = over
				x.expire(v.p)
			})
		case freeing:
			v.frees()
			if s.holds(p) {
				v.spend(ends, "the lease of %d ends while its Release is under way", func(x *script, _ *caller) { x.expire(p) })
			}
		case cleaning:
			v.do("the clean-up of %d is executed, and answered", func(x *script, c *caller) {
				c.phase = over
				x.cleanUp(v.p, c.number)
			})
		case dead:
			if s.holds(p) {
				v.do("the lease of %d, which is dead, ends", func(x *script, _ *caller) { x.expire(v.p) })
			}
		}
	}
	v := stepper{m, 0, s, visit}
	v.server()
	v.kill()
}

// expire ends what a caller holds. The server tells nobody; whoever was told of the lease asks.
func (x *script) expire(p int) {
	var ended set
	for k := range keys {
		if x.has(p, k) {
			ended |= 1 << k
		}
	}
	x.free(p)
	for w := range x.callers {
		if c := &x.callers[w]; c.timer&ended != 0 {
			c.timer &^= ended
			c.woken = true
		}
	}
}

// server has what happens at the server by itself.
func (v *stepper) server() {
	s := v.s
	if v.m.without == clock {
		v.spend(steps, "the server's clock is set back", func(x *script, _ *caller) { x.back = callers })
	}
	if r := s.late; r.who != 0 {
		v.p = int(r.who) - 1
		v.do("the late Release of %d is executed", func(x *script, _ *caller) {
			x.late = lateRelease{}
			x.release(v.p, int(r.carries)-1, 0, r.sent, false)
		})
	}
	if r := s.lateAsk; r.who != 0 {
		v.p = int(r.who) - 1
		v.do("the late request of %d is executed", func(x *script, c *caller) {
			x.lateAsk = lateAsk{}
			if c.guard <= r.number {
				x.obtain(v.p, r.sent)
			}
		})
	}
}

// kill has the process of a Client killed: requests that are under way may be executed yet, its connection is gone later.
func (v *stepper) kill() {
	v.p = v.m.killed
	if v.s.left.kills > 0 && v.s.lateAsk.who == 0 && v.s.late.who == 0 && v.m.isAnybody(&v.s) {
		v.do("the process of Client %d is killed", func(x *script, _ *caller) {
			x.left.kills--
			for p := range x.callers {
				c := &x.callers[p]
				if v.m.roles[p].client != int8(v.m.killed) || c.phase == over || v.m.roles[p].want == (want{}) {
					continue
				}
				switch {
				case c.phase == asking:
					x.lateAsk = lateAsk{int8(p + 1), c.number, c.sent}
				case c.phase == freeing && !c.again:
					x.late = lateRelease{int8(p + 1), c.carries, c.sent}
				}
				c.phase = dead
			}
		})
	}
	for p, c := range v.s.callers {
		if c.phase == dead && v.s.stands(p) && !v.s.deaf.has(p) {
			v.p = p
			v.do("the connection of %d is gone", func(x *script, _ *caller) { x.deaf |= one(v.p) })
		}
	}
}

// isAnybody reports whether somebody of the Client that may be killed is there.
func (m *program) isAnybody(s *state) bool {
	for p, c := range s.callers {
		if m.roles[p].client == int8(m.killed) && c.phase > absent && c.phase < over {
			return true
		}
	}
	return false
}
