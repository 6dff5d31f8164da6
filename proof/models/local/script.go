package local

// A script is one run of a script: of an Obtain, a Release, or a clean-up.
type script struct {
	*state
	m *program
}

// begin drops those whom nobody hears, as far as the script meets them.
func (x *script) begin(at set) {
	for p := range x.callers {
		if x.deaf.has(p) && x.m.roles[p].want.keys()&at != 0 {
			x.leave(p)
		}
	}
}

func (x *script) leave(w int) {
	for k := range keys {
		x.lines[k] &^= one(w)
	}
}

// free ends what p holds, and reports whether that was something.
func (x *script) free(p int) bool {
	was := x.holds(p)
	for k := range keys {
		if int(x.writer[k]) == p+1 {
			x.writer[k] = 0
		}
		x.readers[k] &^= one(p)
	}
	return was
}

// take gives w its keys.
func (x *script) take(w int) {
	x.judge(w)
	x.leave(w)
	for k := range keys {
		if x.m.roles[w].want.writes.has(k) {
			x.writer[k] = int8(w + 1)
		}
		if x.m.roles[w].want.reads.has(k) {
			x.readers[k] |= one(w)
		}
	}
}

// judge takes note if w is given its keys before somebody alive who stands in line, wants one of them, and came before w: at a time
// that is later than its arrival by no more than the way of its request. So it does if somebody before w in its local line is passed
// who does not stand in line yet, but has only just asked, or was kept back.
func (x *script) judge(w int) {
	its := x.m.roles[w].want
	if x.holds(w) {
		return // it has them already
	}
	for v, c := range x.callers {
		alive := c.phase == asking || c.phase == standing || c.phase == local
		if v != w && alive && x.stands(v) && x.m.roles[v].want.against(its) && c.due < x.callers[w].arrived {
			x.wrong = overtook
		}
		justAsked := c.phase == carried || c.phase == asking && !c.open && !c.slow && !x.stands(v)
		keptBack := c.phase == local && !c.asked
		if v != w && (justAsked || keptBack) && x.m.inOneLine(v, w) && c.arrived < x.callers[w].arrived {
			x.wrong = skipped
		}
	}
}

// obtain is what the script does for w whose request was sent at that time: it has its keys, or stands in line. Then timer is the
// keys of which it was told when the lease is over.
func (x *script) obtain(w int, sent int8) (done bool, timer set) {
	of, stands := x.m.roles[w].want.keys(), x.stands(w)
	x.begin(of)
	if !stands {
		x.setPlace(w, sent)
	}
	at, byHolder := x.blocked(w, stands)
	if at < 0 {
		if x.take(w); stands {
			x.serve(of)
		}
		return true, 0
	}
	empty := x.lines[at]&^one(w) == 0
	for k := range keys {
		if of.has(k) {
			x.lines[k] |= one(w)
		}
	}
	if !stands {
		x.callers[w].due = x.callers[w].arrived + x.clock - sent
	}
	if byHolder && x.first(at) == w && (empty || stands || x.m.without != tellsFirst) {
		timer = 1 << at
	}
	return false, timer
}

// release is what the script does for a Release of p, which may carry w (or -1); number is that of p's request, and w's is 0. It
// reports whether w was given its keys.
func (x *script) release(p, w int, number, sent int8, full bool) (given bool) {
	its := &x.callers[p]
	if its.guard > number || w >= 0 && x.m.without == ownHalf && x.callers[w].guard > 0 {
		if its.guard <= number && x.holds(p) {
			x.wrong = notFree
		}
		return false
	}
	its.guard = number
	of := x.m.roles[p].want
	whole := true
	for k := range keys {
		whole = whole && (!of.keys().has(k) || x.has(p, k))
	}
	carries := w >= 0 && whole && (x.callers[w].guard == 0 || x.m.without == bothGuards)
	if carries && full && x.m.without == freesFirst {
		x.wrong = notFree
		return false
	}
	x.begin(of.keys())
	freed := x.free(p)
	if carries && !full {
		given = x.give(w, sent)
	}
	if freed {
		x.serve(of.keys())
	}
	return given
}

// give gives the keys to one that a Release carries, if it came before all that stand in their lines.
func (x *script) give(w int, sent int8) bool {
	if x.stands(w) {
		return false
	}
	if x.setPlace(w, sent); !x.isEarliest(w) && x.m.without != order {
		return false
	}
	for k := range keys {
		if x.m.roles[w].want.keys().has(k) && x.refused(w, k) {
			return false // the releaser held a part only
		}
	}
	x.take(w)
	return true
}

// cleanUp is what the script does for the clean-up of w, which has given up.
func (x *script) cleanUp(w int, number int8) {
	x.callers[w].guard = max(x.callers[w].guard, number)
	stood := x.stands(w)
	x.begin(x.m.roles[w].want.keys())
	x.leave(w)
	if x.free(w) || stood {
		x.serve(x.m.roles[w].want.keys())
	}
}

// serve hands over the keys at hand that are free, and tells those who are first in line of what is not.
func (x *script) serve(at set) {
	for again := true; again; {
		again = false
		for k := range keys {
			if at.has(k) {
				again = x.serveKey(k, at) || again
			}
		}
	}
	for k := range keys {
		if !at.has(k) || x.writer[k] == 0 && x.readers[k] == 0 {
			continue
		}
		for v := x.first(k); v >= 0; v = x.next(k, x.callers[v].place[k]) {
			its := x.m.roles[v].want
			if x.callers[v].timer |= 1 << k; its.writes.has(k) || its.keys() == 1<<k {
				break
			}
		}
	}
}

// serveKey lets those at the front of a line have their keys, and reports whether somebody got some.
func (x *script) serveKey(k int, at set) (gave bool) {
	first := true
	for v := x.first(k); v >= 0; first = false {
		its, place := x.m.roles[v].want, x.callers[v].place[k]
		if its.writes.has(k) && !first || x.refused(v, k) {
			return gave
		}
		if its.keys()&^at != 0 {
			x.callers[v].woken = true
		} else if blocked, _ := x.blocked(v, true); blocked < 0 {
			x.take(v)
			x.callers[v].granted = true
			gave = true
		}
		if its.writes.has(k) {
			return gave
		}
		v = x.next(k, place)
	}
	return gave
}
