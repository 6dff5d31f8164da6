package passing

// obtained has a caller take in that its token has the key, by a request that was sent at that time.
func (x *script) obtained(p int, sent int8) {
	c := &x.callers[p]
	since := sent
	if x.m.without == fromReturn {
		since = x.now
	}
	for q := range x.callers {
		x.callers[q].ended = x.callers[q].ended || x.callers[q].phase == given
		if x.callers[q].phase == holding && x.server.broken != 0 {
			x.callers[q].phase, x.counting = over, false // its hold was broken, which its process knows now
		}
	}
	c.phase, c.open = holding, false
	x.hold = hold{
		token: int8(p + 1), has: int8(p + 1), obtained: since, deadline: sent + x.m.roles[p].ttl, ttl: x.m.roles[p].ttl,
		number: x.greatest, back: x.greatest, last: x.server.fence,
	}
	x.counts()
	if x.hold.deadline <= x.now {
		x.lose()
	}
}

// counts is the hook of an obtained lock: a gauge counts one more.
func (x *script) counts() {
	if x.counting {
		x.wrong = twoCounted
	}
	x.counting = true
}

// lose ends a hold whose deadline has come, or that is gone.
func (x *script) lose() {
	if p := x.hold.has - 1; p >= 0 {
		c := &x.callers[p]
		switch c.phase {
		case holding:
			x.counting = false
			c.phase = over
		case given:
			if x.m.without == asksLoss {
				return
			}
		}
	}
	x.hold.lost = true
}

// localNext is the caller that has waited longest, and has no hold yet; matching: of those that match the hold. -1 if nobody waits.
func (x *script) localNext(matching bool) int {
	found := -1
	for p, c := range x.callers {
		waits := c.phase >= local && c.phase <= deciding && (!matching || x.m.roles[p].matches)
		if c.phase == deciding && x.m.without != oneState {
			waits = false
		}
		if waits && (found < 0 || c.arrived < x.callers[found].arrived) {
			found = p
		}
	}
	return found
}

// passes is to whom a Release passes the hold on without Redis; -1: to nobody.
func (x *script) passes(p int, leave bool) int {
	h, without := &x.hold, x.m.without
	w := x.localNext(without == inOrder)
	if w < 0 || h.lost || !x.m.roles[w].matches || !x.m.roles[p].matches {
		return -1
	}
	next := &x.callers[w]
	waits := next.phase == local && !next.asked || next.phase == deciding || next.phase == standing && without == neverAsked
	elapsed := x.now - h.obtained
	if without == clocks {
		elapsed -= h.slept
	}
	switch {
	case !waits,
		elapsed > x.m.passOn && without != ends,
		h.touched != 0 && without != touched,
		h.told != 0 && without != secret,
		h.number >= h.last && x.m.block > 1 && without != blockEnds,
		leave && without != leaves:
		return -1
	}
	return w
}

// pass passes the hold on from p to w.
func (x *script) pass(p, w int) {
	h := &x.hold
	for q, c := range x.callers {
		if q != w && c.phase >= local && c.phase <= standing && c.arrived < x.callers[w].arrived {
			x.wrong = skipped
		}
	}
	if x.now > x.server.since+x.m.passOn {
		x.wrong = tooLong
	}
	if 2*(h.deadline-x.now) < h.ttl {
		x.wrong = tooShort
	}
	if x.m.without != hooks {
		x.counting = false
	}
	x.callers[p].phase, x.callers[p].passed = over, true
	h.has = int8(w + 1)
	if x.m.block > 1 {
		if h.number++; h.number <= x.greatest {
			x.wrong = notGreater
		}
		x.greatest, h.back = h.number, h.number
	}
	if x.m.without == anew {
		h.obtained = x.now
	}
	if x.m.without == fixed {
		h.deadline = x.now + h.ttl
	}
	if x.callers[w].phase == deciding {
		x.callers[w].phase = over // it does not look any more
		return
	}
	x.callers[w].phase = given
}

// wake has the goroutine of a caller wake to which a hold was passed on.
func (x *script) wake(p int) {
	h, c := &x.hold, &x.callers[p]
	if c.ended || h.lost {
		c.phase, c.ended, c.asked = local, false, true
		if x.m.without == wakes && !h.lost {
			x.wrong = tooShort
		}
		return
	}
	rest := h.deadline - x.now
	if x.m.without == clocks {
		rest += h.slept
	}
	if 2*rest < h.ttl && x.m.without != wakes {
		c.phase, c.back = freeing, true
		x.send(p, 0, false)
		return
	}
	c.phase = holding
	x.counts()
	if h.gone {
		x.wrong = wasLost
	}
	if 2*(h.deadline-x.now) < h.ttl {
		x.wrong = tooShort
	}
}

// send sends the Release of a hold that p has. It carries the local next if that has never asked.
func (x *script) send(p int, rest int8, carries bool) {
	h := &x.hold
	x.release = release{token: h.token, sent: x.now, rest: rest}
	if x.m.block > 1 && (h.told == 0 || x.m.without == knows) {
		x.release.back = h.back
	}
	if x.callers[p].phase != freeing || !x.callers[p].back {
		x.callers[p].phase = freeing
		x.counting = false
	}
	if w := x.localNext(false); carries && rest == 0 && w >= 0 && x.callers[w].phase == local && !x.callers[w].asked {
		x.callers[w].phase, x.callers[w].asked = carried, true
		x.release.carries = int8(w + 1)
	}
}

// frees is the Release of a caller that holds its lock.
func (x *script) frees(p int, leave bool) {
	if w := x.passes(p, leave); w >= 0 {
		if leave {
			x.leftTill = x.now + 1
			x.wrong = tooSoon
		}
		x.pass(p, w)
		return
	}
	rest := int8(0)
	if leave {
		rest = 1
	}
	x.send(p, rest, true)
}

// answered takes in the answer to the Release that is under way.
func (x *script) answered(isGiven bool) {
	r := x.release
	x.release = release{}
	x.freed()
	w := int(r.carries) - 1
	switch {
	case w < 0 || x.callers[w].phase != carried:
	case isGiven:
		sent := r.sent
		if x.m.without == fromTry {
			sent = x.now
		}
		x.obtained(w, sent)
	default:
		x.callers[w].phase = local
	}
}

// freed ends the calls of those whose Release was answered.
func (x *script) freed() {
	for p := range x.callers {
		c := &x.callers[p]
		switch {
		case c.phase == freeing && c.back:
			c.phase, c.back, c.asked = local, false, true
		case c.phase == freeing:
			c.phase = over
		}
	}
	if x.hold.has > 0 && x.callers[x.hold.has-1].phase != holding {
		x.hold = hold{}
	}
}
