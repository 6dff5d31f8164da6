package late

// next visits every state that can follow.
func (m *model) next(s *state, visit func(state, event)) {
	m.late(s, visit)
	for who := range callers {
		m.calls(s, who, visit)
	}
	for t := range threads {
		m.starts(s, t, visit)
	}
	for h := range holds {
		m.cleans(s, h, visit)
	}
	m.world(s, visit)
}

// late executes the requests that nobody waits for.
func (m *model) late(s *state, visit func(state, event)) {
	for i, r := range s.late {
		if r == (request{}) || i > 0 && r == s.late[i-1] {
			continue
		}
		for e := range extents {
			if e != whole && s.errors == 0 {
				break
			}
			n := *s
			n.take(i)
			if reply, done := n.run(m, r, e, true); done {
				visit(n, event{kind: arrives, request: r, reply: reply, extent: e})
			}
		}
	}
}

// run executes a request to some extent. It reports false if that is the same as another one.
func (s *state) run(m *model, r request, e extent, late bool) (reply, bool) {
	if m.ran != nil && e == whole { // the model server does not know what a script leaves undone that fails
		m.ran(m, s.server, r)
	}
	reply := s.server.execute(m, r, e)
	if e != whole {
		if reply != failed {
			return reply, false
		}
		s.errors--
	}
	if reply == ok || reply == failed || reply == lost && r.op.frees() {
		s.lessenElsewhere(m, r, late)
	}
	return reply, true
}

// lessenElsewhere has the holds of other processes count on nothing that an executed request takes away. They know
// nothing of the request: only the documentation can say to their callers what not to count on.
func (s *state) lessenElsewhere(m *model, r request, late bool) {
	if m.broken == trustsFrees && r.op.frees() || m.broken == trustsChanges && takesTurns(r.op) || m.broken == trustsLate && late {
		return
	}
	for h := range s.hold {
		if m.process[h] != m.process[r.hold] {
			s.limit(h, -1, r)
		}
	}
}

// calls goes on with a call under way.
func (m *model) calls(s *state, who int, visit func(state, event)) {
	c := &s.call[who]
	w := int8(who)
	switch c.phase {
	case again:
		n := *s
		n.send(m, who)
		visit(n, event{kind: sends, who: w, request: n.call[who].request})
	case sent:
		for e := range extents {
			if e != whole && s.errors == 0 {
				break
			}
			n := *s
			if reply, done := n.run(m, c.request, e, false); done {
				n.call[who].phase, n.call[who].reply = executed, reply
				visit(n, event{kind: executes, who: w, request: c.request, reply: reply, extent: e})
			}
		}
	case executed:
		m.replies(s, who, visit)
	case waiting:
		m.waits(s, who, visit)
	}
	if c.underWay() && s.faults > 0 && c.reply != failed {
		m.silent(s, who, visit)
	}
}

// replies delivers the answer of a call.
func (m *model) replies(s *state, who int, visit func(state, event)) {
	c := &s.call[who]
	e := event{kind: answers, who: int8(who), reply: c.reply}
	if c.reply != failed {
		n := *s
		n.answered(m, who)
		visit(n, e)
		return
	}
	for _, triesAgain := range c.ways() {
		n := *s
		n.failed(m, who, triesAgain)
		visit(n, e)
	}
}

// silent leaves a try without its answer.
func (m *model) silent(s *state, who int, visit func(state, event)) {
	c := &s.call[who]
	for _, triesAgain := range c.ways() {
		n := *s
		n.faults--
		n.unanswered(m, who, triesAgain)
		e := event{kind: givesUp, who: int8(who)}
		if triesAgain {
			e.kind = dies
		}
		visit(n, e)
	}
}

// ways returns whether a caller who has no answer tries again: where it may, both is possible.
func (c *call) ways() []bool {
	if c.tries > 0 {
		return []bool{true, false}
	}
	return []bool{false}
}

// waits goes on with a waiter.
func (m *model) waits(s *state, who int, visit func(state, event)) {
	c := &s.call[who]
	w := int8(who)
	if s.server.notified[c.request.hold] {
		n := *s
		n.grants(&n.call[who], c.request.lease)
		n.call[who] = call{}
		visit(n, event{kind: receives, who: w})
		if s.faults > 0 {
			n = *s
			n.faults--
			n.server.notified[c.request.hold] = false
			visit(n, event{kind: misses, who: w})
		}
	}
	if c.asks > 0 {
		n := *s
		n.call[who].phase = again
		n.call[who].asks--
		visit(n, event{kind: asksAgain, who: w})
	}
	n := *s
	n.leaveBehind(m, c.request)
	n.server.notified[c.request.hold] = false
	n.call[who] = call{}
	visit(n, event{kind: leaves, who: w})
}

// starts begins the next operation of a thread.
func (m *model) starts(s *state, t int, visit func(state, event)) {
	if s.call[t].phase != idle {
		return
	}
	n := *s
	for int(n.step[t]) < len(m.threads[t]) {
		p := m.threads[t][n.step[t]]
		h := &n.hold[p.hold]
		switch {
		case m.busy(&n, t, p):
			return
		case !p.op.obtains() && p.keys&h.claims == 0, h.gone && p.op != release && !p.op.obtains():
			if m.obtains(&n, p.hold) {
				return // it waits until there is a lock
			}
			n.step[t]++
			continue
		}
		n.step[t]++
		r := request{op: p.op, hold: p.hold, keys: p.keys, read: p.read, lease: p.lease, taken: p.taken}
		if !p.op.obtains() {
			r.keys &= h.claims
		}
		n.begin(m, t, r)
		visit(n, event{kind: begins, who: int8(t), request: n.call[t].request})
		return
	}
}

// busy reports whether an operation of a hold has to wait for another one of it.
func (m *model) busy(s *state, t int, p step) bool {
	for i := range s.call {
		c := &s.call[i]
		if i == t || c.phase == idle || c.request.hold != p.hold {
			continue
		}
		o := c.request.op
		if o.obtains() || p.op.obtains() || takesTurns(o) && takesTurns(p.op) {
			return true
		}
	}
	return false
}

// takesTurns reports whether only one such operation of a hold is under way at a time.
func takesTurns(o op) bool { return o == refresh || o == downgrade || o == upgrade }

// obtains reports whether a hold is yet to be obtained.
func (m *model) obtains(s *state, hold int8) bool {
	for t := range threads {
		for _, p := range m.threads[t][min(int(s.step[t]), len(m.threads[t])):] {
			if p.hold == hold && p.op.obtains() {
				return true
			}
		}
	}
	return false
}

// cleans sends the clean-up of a hold, if there is anything that it may free, or none was answered.
func (m *model) cleans(s *state, h int, visit func(state, event)) {
	who := threads + h
	hold := &s.hold[h]
	if s.call[who].phase != idle || !hold.unclean && hold.left&^m.names(s.others(m, h)) == 0 {
		return
	}
	for _, taken := range []bool{false, true} { // false: that time is over
		if taken && !hold.taken {
			break
		}
		n := *s
		n.begin(m, who, request{op: cleanup, hold: int8(h), keys: hold.left, leave: hold.inLine, taken: taken})
		visit(n, event{kind: begins, who: int8(who), request: n.call[who].request})
	}
}
