package passing

// A script is one run of a script.
type script struct {
	*state
	m *program
}

// expire ends what has ended.
func (s *state) expire() {
	if k := &s.server; k.owner != nobody && s.now >= k.till {
		k.owner, k.till, k.cut = nobody, 0, false
	}
}

// owned takes note of who has seen that somebody else has the key.
func (s *state) owned() {
	for p := range s.callers {
		c := &s.callers[p]
		waits := c.phase == local || c.phase == carried || c.phase == deciding
		c.sees = c.sees && waits || waits && s.server.owner != nobody && s.server.owner != int8(p+1)
	}
}

// numbers is how many a hold takes at once: some if somebody waits behind it.
func (x *script) numbers() int8 {
	for _, c := range x.callers {
		if c.phase == local {
			return x.m.block
		}
	}
	return 1
}

// grant gives the key to a token, or to another Client's caller.
func (x *script) grant(owner int8) {
	k := &x.server
	if x.now < x.leftTill {
		x.wrong = tooSoon
	}
	k.owner, k.cut, k.since = owner, false, x.now
	if owner <= callers {
		x.callers[owner-1].stands = false
	}
	ttl := x.m.roles[0].ttl
	count := int8(1)
	if owner <= callers {
		for _, arrived := range k.line {
			if arrived > 0 && arrived < x.callers[owner-1].arrived {
				x.wrong = overtook
			}
		}
		ttl, count = x.m.roles[owner-1].ttl, x.numbers()
	}
	k.till = x.now + ttl
	if k.fence < x.greatest {
		x.wrong = notGreater
	}
	x.greatest = k.fence + 1
	k.fence += count
}

// first is who came first of those who stand in line: a caller, or -1 and a place in the line of the others, or -1 and -1.
func (s *state) first() (caller, place int) {
	caller, place = -1, -1
	least := int8(127)
	for p, c := range s.callers {
		if c.stands && c.arrived < least {
			caller, least = p, c.arrived
		}
	}
	for i, arrived := range s.server.line {
		if arrived > 0 && arrived < least {
			caller, place, least = -1, i, arrived
		}
	}
	return caller, place
}

// handOver gives a free key to who stands first in line. A caller that is given it hears of that at once.
func (x *script) handOver() {
	if x.server.owner != nobody {
		return
	}
	p, i := x.first()
	switch {
	case p >= 0:
		x.grant(int8(p + 1))
		if x.callers[p].phase == standing || x.callers[p].phase == asking {
			x.callers[p].answer = flies
			x.obtained(p, x.now) // it is told, and asks once more
		}
	case i >= 0:
		x.server.line[i] = 0
		x.grant(other)
	}
}

// obtain is what the script does for a caller.
func (x *script) obtain(p int) (done bool) {
	k, c := &x.server, &x.callers[p]
	c.guard = c.guard || c.open
	if k.owner == int8(p+1) { // it has the key already, by a Release that was not answered
		k.till, k.since = max(k.till, x.now+x.m.roles[p].ttl), x.now
		return true
	}
	c.stands = true
	if k.owner != nobody {
		return false
	}
	if first, i := x.first(); first >= 0 && first != p || i >= 0 && k.line[i] < c.arrived {
		x.handOver()
		return k.owner == int8(p+1)
	}
	x.grant(int8(p + 1))
	return true
}

// releases is what the script does for a Release. It reports whether the one that it carries has the key now.
func (x *script) releases(r release) (isGiven bool) {
	k := &x.server
	if k.guard[r.token-1] > number(r.again) {
		return false
	}
	k.guard[r.token-1] = number(r.again)
	if r.again && r.carries > 0 && k.owner == r.carries {
		return true // by an earlier try
	}
	whole := k.owner == r.token && !k.cut
	if r.back > 0 && (k.owner == r.token || x.m.without == writesBack) {
		k.fence = r.back
	}
	if k.owner != r.token {
		return false
	}
	k.owner, k.till, k.cut = nobody, 0, false
	if r.rest > 0 {
		k.owner, k.till = left, x.now+r.rest
		x.leftTill = k.till
		return false
	}
	if r.carries > 0 && whole && !x.callers[r.carries-1].guard {
		arrived := x.callers[r.carries-1].arrived
		p, i := x.first()
		if (p < 0 || x.callers[p].arrived > arrived) && (i < 0 || k.line[i] > arrived) {
			x.grant(r.carries)
			return true
		}
	}
	x.handOver()
	return false
}

func number(again bool) int8 {
	if again {
		return 1
	}
	return 0
}
