package local

// keepsBack reports whether a caller, if it is before another one in their local line, has that one wait.
func (m *program) keepsBack(c *caller) bool {
	switch c.phase {
	case local, carried, standing:
		return true
	case asking:
		return !c.slow || m.without == slowly
	case paused:
		return m.without == pausing
	case cleaning, over:
		return m.without == leaves && c.asked // it was the first once
	}
	return false
}

// inOneLine reports whether two form a local line: they wait in one Client for the same keys, one of which they write.
func (m *program) inOneLine(p, q int) bool {
	return m.roles[p] == m.roles[q] && m.roles[p].want.writes != 0
}

// before reports whether somebody keeps p back.
func (m *program) before(s *state, p int) bool {
	for q := range s.callers {
		if q != p && m.inOneLine(p, q) && s.callers[q].arrived < s.callers[p].arrived && s.callers[q].arrived > 0 &&
			m.keepsBack(&s.callers[q]) {
			return true
		}
	}
	return false
}

// localNext is the first of those who wait in the Client of p for the keys of p; fresh: of those who have never asked. -1 if nobody
// does.
func (m *program) localNext(s *state, p int, fresh bool) int {
	found := -1
	for q, c := range s.callers {
		waits := c.phase >= local && c.phase <= standing && (!fresh || !c.asked)
		if q != p && m.inOneLine(p, q) && waits && (found < 0 || c.arrived < s.callers[found].arrived) {
			found = q
		}
	}
	return found
}

// send sends the request of a caller.
func (v *stepper) send(x *script, c *caller) {
	if c.open && v.m.without != closes {
		c.number++
	}
	c.phase, c.sent, c.asked, c.woken = asking, x.clock, true, false
}

// waits has the steps of a caller that waits.
func (v *stepper) waits() {
	c := v.s.callers[v.p]
	switch {
	case c.phase == local && (c.open || !v.m.before(&v.s, v.p)):
		v.do("%d asks", func(x *script, c *caller) { v.send(x, c) })
	case c.phase == standing && c.granted:
		v.do("%d hears that it has its keys", func(_ *script, c *caller) { c.phase = holding })
	case c.phase == standing && c.woken:
		v.do("%d asks again", func(x *script, c *caller) { v.send(x, c) })
	case c.phase == standing && v.m.asks && v.wouldGet():
		v.do("%d asks again, as it does every now and then", func(x *script, c *caller) { v.send(x, c) })
	case c.phase == asking && (!c.slow || !v.someoneIsPatient()):
		v.asks()
	}
	if c.phase == asking && !c.slow {
		v.spend(slow, "the request of %d takes longer than others wait", func(_ *script, c *caller) { c.slow = true })
	}
}

// someoneIsPatient reports whether somebody behind the caller in its local line has not asked yet. That takes less time than a
// request that is slow.
func (v *stepper) someoneIsPatient() bool {
	for q, c := range v.s.callers {
		if v.m.inOneLine(v.p, q) && c.phase == local && c.arrived > v.s.callers[v.p].arrived && !c.asked {
			return true
		}
	}
	return false
}

// wouldGet reports whether asking gives the caller its keys.
func (v *stepper) wouldGet() bool {
	n := v.s
	done, _ := (&script{&n, v.m}).obtain(v.p, n.clock)
	return done
}

// execute is what the server does with the request of a caller.
func (x *script) execute(w int) (done bool, timer set) {
	c := &x.callers[w]
	c.guard = c.number // no later request of it was sent yet
	return x.obtain(w, c.sent)
}

// asks has what happens to a request.
func (v *stepper) asks() {
	v.do("the request of %d is executed, and answered", func(x *script, c *caller) {
		done, timer := x.execute(v.p)
		c.answered(done, timer)
	})
	v.spend(losses, "the request of %d is executed, and its answer is lost", func(x *script, c *caller) {
		x.execute(v.p)
		c.phase, c.open, c.slow = local, true, false
	})
	if v.s.lateAsk.who == 0 {
		v.spend(losses, "the request of %d is not answered, and is late", func(x *script, c *caller) {
			x.lateAsk = lateAsk{int8(v.p + 1), c.number, c.sent}
			c.phase, c.open, c.slow = local, true, false
		})
	}
	if !v.s.stands(v.p) && !v.s.callers[v.p].open {
		v.spend(pauses, "the request of %d is refused for the server's sake, and %[1]d pauses", func(_ *script, c *caller) {
			c.phase, c.slow = paused, false
		})
	}
}

// answered takes in an answer.
func (c *caller) answered(done bool, timer set) {
	c.open, c.slow = false, false
	if done {
		c.phase = holding
		return
	}
	c.phase = standing
	c.timer |= timer
}

// gives has a caller give up.
func (v *stepper) gives() {
	c := v.s.callers[v.p]
	if c.phase == asking && v.s.lateAsk.who != 0 {
		return
	}
	v.spend(cancels, "%d gives up", func(x *script, c *caller) {
		was := *c
		if was.phase == asking {
			x.lateAsk = lateAsk{int8(v.p + 1), c.number, c.sent}
		}
		sends := c.asked && (was.phase != carried || v.m.without != givesUp)
		c.timer, c.woken, c.granted = 0, false, false
		if c.phase = over; sends {
			c.phase = cleaning
		}
		if was.phase != standing && sends {
			c.number++ // it closes what is under way, or was not answered
		}
	})
}

// release sends the Release of a caller, which carries the local next if that has never asked.
func (v *stepper) release(x *script, c *caller) {
	c.phase, c.sent, c.carries = freeing, x.clock, 0
	w := v.m.localNext(x.state, v.p, v.m.without == foremost)
	if w < 0 {
		return
	}
	next := &x.callers[w]
	if v.m.without == neverAsked && (next.phase == asking || next.phase == standing) {
		c.carries = int8(w + 1)
	}
	if next.phase == local && !next.asked {
		c.carries = int8(w + 1)
		next.asked = true
		if v.m.without != marked {
			next.phase = carried
		} else {
			next.asked = false
		}
	}
}

// frees has what happens to a Release.
func (v *stepper) frees() {
	its := v.s.callers[v.p]
	w := int(its.carries) - 1
	execute := func(x *script, c *caller, full bool) bool { return x.release(v.p, w, c.number, c.sent, full) }
	v.do("the Release of %d is executed, and answered", func(x *script, c *caller) {
		given := execute(x, c, false)
		v.told(x, c, w, given || v.m.without == code)
	})
	if w >= 0 {
		v.spend(full, "the Release of %d finds no memory for the next, and is answered", func(x *script, c *caller) {
			execute(x, c, true)
			v.told(x, c, w, false)
		})
	}
	if its.again {
		return
	}
	v.spend(losses, "the Release of %d is executed, and its answer is lost", func(x *script, c *caller) {
		execute(x, c, false)
		v.unanswered(x, c, w)
	})
	if v.s.late.who == 0 {
		v.spend(losses, "the Release of %d is not answered, and is late", func(x *script, c *caller) {
			x.late = lateRelease{int8(v.p + 1), c.carries, c.sent}
			v.unanswered(x, c, w)
		})
	}
	if v.m.without == takenIn {
		v.spend(cancels, "the context of the Release of %d ends", func(x *script, c *caller) {
			execute(x, c, false)
			c.phase, c.carries = over, 0
		})
	}
}

// told takes in the answer to a Release that carries w.
func (v *stepper) told(x *script, c *caller, w int, given bool) {
	c.phase, c.carries = over, 0
	if w < 0 {
		return
	}
	next := &x.callers[w]
	switch {
	case given && (next.phase == carried || next.phase == asking || next.phase == local || next.phase == standing):
		next.answered(true, 0)
	case next.phase == carried && v.m.without == atOnce:
		next.phase = standing
	case next.phase == carried:
		next.phase, next.slow = local, false
	}
}

// unanswered has the Release go on alone, and whom it carried ask by itself.
func (v *stepper) unanswered(x *script, c *caller, w int) {
	c.number, c.again = c.number+1, true
	c.carries = 0
	if w >= 0 && x.callers[w].phase == carried && v.m.without != tellsNext {
		x.callers[w].phase, x.callers[w].open, x.callers[w].slow = local, true, false
	}
}
