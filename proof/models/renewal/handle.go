package renewal

// begin takes note of a Refresh that is about to be sent.
func (s *state) begin(m *program, of int8, ttl int8) {
	h := &s.handles[of]
	h.pending, h.before = ttl, 0
	s.change(of)
	h.longest = max(h.longest, ttl)
	if deadline := s.now + ttl; h.deadline > deadline && m.without != pending {
		h.before, h.deadline = h.deadline, deadline
	}
}

// takeIn takes in the answer to a request.
func (s *state) takeIn(m *program, r request) {
	s.answered(r)
	h := &s.handles[r.handle]
	switch r.kind {
	case renewal:
		s.renewed(m, h, r)
	case refresh:
		if r.left && r.stale != 1 {
			return // something else has begun since
		}
		s.refreshed(m, h, r)
	case release:
		h.settled = true
	case cleanup:
		h.clearing = r.reply == overtaken
	}
}

// renewed takes in the answer to a renewal.
func (s *state) renewed(m *program, h *handle, r request) {
	switch r.reply {
	case notOurs:
		s.lose(m, h)
	case done:
		certain := r.ttl
		if h.pending > 0 {
			certain = min(certain, h.pending)
		}
		deadline := s.sentAt(m, r) + certain
		if h.is == held && (r.stale == 0 || m.without == begun) && deadline >= h.deadline {
			h.deadline = deadline
		}
	}
}

// sentAt is the moment from which a lease counts.
func (s *state) sentAt(m *program, r request) int8 {
	if m.without == fromAnswer {
		return s.now
	}
	return r.sent
}

// refreshed takes in the answer to a Refresh.
func (s *state) refreshed(m *program, h *handle, r request) {
	h.pending = 0
	s.change(r.handle)
	switch {
	case r.reply == overtaken && h.is == held:
		if h.before > h.deadline {
			h.deadline = h.before
		}
		again := request{kind: refresh, handle: r.handle, ttl: r.ttl, longer: true}
		if s.begin(m, r.handle, r.ttl); !s.send(m, again) {
			h.pending = 0
		}
	case r.reply == notOurs:
		s.lose(m, h)
	case r.reply == done && s.now >= s.sentAt(m, r)+r.ttl:
		s.lose(m, h)
	case r.reply == done && h.is == held:
		h.ttl, h.deadline = r.ttl, s.sentAt(m, r)+r.ttl
	}
}

// lose declares the lock lost.
func (s *state) lose(m *program, h *handle) {
	if h.is == held {
		h.is = lost
		h.told++
	} else if h.is == lost && m.without == once {
		h.told++
	}
}
