package late

// begin starts the next operation of a caller.
func (s *state) begin(m *model, who int, r request) {
	h := &s.hold[r.hold]
	switch {
	case r.op.obtains():
		h.claims |= r.keys
		h.gone, h.inLine = false, r.op == queue
		for i := range s.call {
			c := &s.call[i]
			if c.phase != idle && m.process[c.request.hold] == m.process[r.hold] {
				c.later |= 1 << r.hold
			}
		}
	case r.op == release:
		h.inLine = false // whoever has a lock does not wait for it any more
		h.claims &^= r.keys
	}
	s.call[who] = call{phase: again, request: r, tries: 1, asks: m.asks}
	s.send(m, who)
}

// send sends a try of a call, with all that has to be known at that moment.
func (s *state) send(m *model, who int) {
	c := &s.call[who]
	r := c.request
	r = request{op: r.op, hold: r.hold, keys: r.keys, read: r.read, lease: r.lease, keep: r.keep, leave: r.leave, taken: r.taken, home: -1}
	if !r.op.frees() && !r.op.obtains() {
		r.keys &= s.hold[r.hold].claims // ReleaseKeys may have freed some meanwhile
		if r.keys == 0 {
			*c = call{}
			return
		}
	}
	if !s.heed(m, c, &r) {
		*c = call{}
		return
	}
	s.lessen(m, who, r)
	c.limit = s.limits(m, who, r)
	if m.broken != unstamped || r.op != renew {
		s.stamp(m, who, &r)
	}
	c.phase, c.request, c.reply = sent, r, 0
}

// heed has a request leave alone what others count on. It returns false if there is nothing to be sent.
func (s *state) heed(m *model, c *call, r *request) bool {
	later := m.names(s.laterClaims(c)) & r.keys
	if m.broken == heedsOvertaken && c.beaten == 0 {
		later = 0
	}
	switch r.op {
	case obtain, queue:
		r.keep = r.keep || r.read != 0 && later != 0 && m.broken != readsAgain
	case cleanup:
		if m.broken != noSpare {
			r.spare = m.names(s.others(m, int(r.hold))) & r.keys
		}
	case release:
		if m.broken != releasesAgain {
			r.spare = later
		}
	case refresh:
		r.keep = r.keep || later != 0 && m.broken != refreshesAgain
	case upgrade:
		r.keep = r.keep || later != 0 && m.broken != upgradesAgain
	case downgrade:
		if later != 0 && m.broken != downgradesAgain {
			s.reads(r)
			return false
		}
	case renew:
		r.keep = m.broken != plainRenewal
	}
	return true
}

// reads has the hold of a Downgrade that is not sent again count as one that reads.
func (s *state) reads(r *request) {
	for i := range keys {
		if r.keys.has(i) {
			s.hold[r.hold].counts[i] = s.hold[r.hold].counts[i].within(lease{reads, most.left})
		}
	}
}

// lessen has the holds count no longer on what a request that is about to be sent may take away. The holds that
// have begun after its call go on counting on it: the request must not touch what is theirs.
func (s *state) lessen(m *model, who int, r request) {
	for h := range s.hold {
		if s.call[who].later.has(h) || m.process[h] != m.process[r.hold] {
			continue
		}
		s.limit(h, who, r)
	}
}

// limit has a hold, and its calls under way but one, count on no more than a request leaves.
func (s *state) limit(h, but int, r request) {
	for i := range keys {
		limit := r.takes(i)
		s.hold[h].counts[i] = s.hold[h].counts[i].within(limit)
		for c := range s.call {
			other := &s.call[c]
			if c != but && other.phase != idle && int(other.request.hold) == h {
				other.limit[i] = other.limit[i].within(limit)
			}
		}
	}
}

// limits is what a request may count on at most, for what others have under way as it is sent.
func (s *state) limits(m *model, who int, r request) (limits [keys]lease) {
	for i := range keys {
		limits[i] = most
		for c := range s.call {
			other := &s.call[c]
			if c != who && other.underWay() && !other.later.has(int(r.hold)) && m.process[other.request.hold] == m.process[r.hold] {
				limits[i] = limits[i].within(other.request.takes(i))
			}
		}
	}
	return limits
}

// stamp gives a request its number, and what it closes.
func (s *state) stamp(m *model, who int, r *request) {
	o := &s.owner[m.process[r.hold]]
	behind := o.behind(m, *r)
	if r.op == renew && len(behind) == 0 {
		return
	}
	for i := range s.call {
		other := &s.call[i]
		t := other.request
		if i == who || !r.op.obtains() || !other.underWay() || t.number == 0 ||
			m.names(t.keys)&m.names(r.keys) == 0 || !t.harms() || m.process[t.hold] != m.process[r.hold] {
			continue
		}
		if t.op.frees() && m.broken == freesUncounted || t.op.obtains() && m.broken == readsUncounted ||
			!t.op.frees() && !t.op.obtains() && m.broken == changesUncounted {
			continue
		}
		behind = append(behind, t.entry(m))
	}
	o.stamp(m, r, behind)
	if r.isClosing() {
		o.guards = m.guardLife
	}
}
