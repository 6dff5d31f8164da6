package late

// endless is how many tries in a row may be overtaken before nothing else is to be expected.
const endless = 8

// unanswered ends a try that is not answered: its caller tries again, or goes.
func (s *state) unanswered(m *model, who int, triesAgain bool) {
	c := &s.call[who]
	r := c.request
	if c.phase == sent {
		s.addLate(r)
	}
	if r.op != renew && (m.broken != settlesErrors || c.reply != failed) {
		s.owner[m.process[r.hold]].add(r.entry(m))
	}
	c.unanswered, c.beaten = true, 0
	if triesAgain {
		c.phase = again
		c.tries--
		return
	}
	if r.op.obtains() || r.op == release {
		s.leaveBehind(m, r)
	}
	*c = call{}
}

// leaveBehind leaves the keys of a request to the clean-up.
func (s *state) leaveBehind(m *model, r request) {
	h := &s.hold[r.hold]
	h.claims &^= r.keys
	h.unclean, h.taken = true, r.taken
	h.cleans(m, r.keys)
	for i := range keys {
		if r.keys.has(i) {
			h.counts[i] = lease{}
		}
	}
}

// answered takes in the reply of a script.
func (s *state) answered(m *model, who int) {
	c := &s.call[who]
	r := c.request
	o := &s.owner[m.process[r.hold]]
	if c.reply != overtaken || m.broken == settlesOvertaken {
		o.settle(m, r)
	}
	if r.isClosing() {
		o.guards = m.guardLife
	}
	if c.reply == overtaken {
		c.beaten++
		if r.op == renew {
			*c = call{}
		} else {
			c.phase = again
		}
		return
	}
	switch {
	case r.op.obtains():
		s.obtained(m, who)
	case r.op == release && r.spare != 0 && m.broken != sparesForGood:
		s.hold[r.hold].cleans(m, r.spare)
	case r.op == cleanup:
		h := &s.hold[r.hold]
		h.left &^= r.keys &^ r.spare
		h.unclean = false
	case !r.op.frees():
		if s.changed(c) {
			c.phase, c.beaten = again, 0 // for what is left
			return
		}
	}
	if c.phase != waiting {
		*c = call{}
	}
}

// obtained takes in the answer of an Obtain.
func (s *state) obtained(m *model, who int) {
	c := &s.call[who]
	r := c.request
	h := &s.hold[r.hold]
	switch {
	case c.reply == waits:
		c.phase = waiting
	case c.reply == ok && r.lease > r.age:
		s.grants(c, r.lease-r.age)
	case c.reply == ok, c.unanswered, r.op == queue:
		s.leaveBehind(m, r) // it is too late, or not all is certain
	default:
		h.claims &^= r.keys
	}
}

// grants gives the hold of a call what it has obtained.
func (s *state) grants(c *call, left int8) {
	r := c.request
	s.server.notified[r.hold] = false
	for i := range keys {
		if !r.keys.has(i) {
			continue
		}
		mode := writes
		if r.read.has(i) {
			mode = reads
		}
		s.hold[r.hold].counts[i] = lease{mode, left}.within(c.limit[i])
	}
}

// changed takes in the answer of a Refresh, a renewal or a conversion. It reports whether that is to be
// sent again, because ReleaseKeys has freed keys of it meanwhile.
func (s *state) changed(c *call) bool {
	r := c.request
	h := &s.hold[r.hold]
	switch {
	case c.reply == lost && r.keys&^h.claims != 0:
		return r.op != renew
	case c.reply == lost:
		h.gone, h.counts = true, [keys]lease{}
		return false
	case c.reply == refused:
		return false
	}
	for i := range keys {
		if !r.keys.has(i) || h.counts[i].mode == free {
			continue
		}
		certain := lease{h.counts[i].mode, r.lease - r.age}
		switch r.op {
		case downgrade:
			certain.mode = reads
		case upgrade:
			certain.mode = writes
		}
		certain = certain.within(c.limit[i])
		if r.keep && certain.mode == free {
			continue // it came too late to be of use, and has taken nothing away
		}
		if r.keep {
			certain.left = max(certain.left, h.counts[i].left)
		}
		h.counts[i] = certain
	}
	return false
}

// failed takes in an error: no answer, whatever else it says.
func (s *state) failed(m *model, who int, triesAgain bool) {
	r := s.call[who].request
	if m.broken == settlesErrors {
		s.owner[m.process[r.hold]].settle(m, r)
	}
	s.unanswered(m, who, triesAgain)
	if m.broken == leavesErrors && !triesAgain && r.op.obtains() {
		h := &s.hold[r.hold]
		h.left, h.unclean = 0, false
	}
}
