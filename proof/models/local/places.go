package local

// spread is how far apart the places of two moments are, so that there is room for those who came at the same one.
const spread = 2 * callers

// setPlace gives w the place of its arrival, later by the time for which its request was under way, or one behind that which is
// nobody's in any of its lines.
func (x *script) setPlace(w int, sent int8) {
	c, keysOf := &x.callers[w], x.m.roles[w].want.keys()
	at := spread * (callers + c.arrived + x.clock - sent - x.back)
	if x.m.without == newcomers {
		at = spread * (callers + x.clock - x.back)
	}
	c.place = [keys]int8{at, at}
	for moved := true; moved; {
		moved = false
		for k := range keys {
			for v, its := range x.callers {
				if v == w || !keysOf.has(k) || !x.lines[k].has(v) || its.place[k] != c.place[k] {
					continue
				}
				moved = true
				if c.place[k]++; x.m.without != apart {
					c.place = [keys]int8{c.place[k], c.place[k]}
				}
			}
		}
	}
}

// next returns who stands behind a place in a line; -1 if nobody does.
func (s *state) next(k int, behind int8) int {
	found := -1
	for p, c := range s.callers {
		if s.lines[k].has(p) && c.place[k] > behind && (found < 0 || c.place[k] < s.callers[found].place[k]) {
			found = p
		}
	}
	return found
}

// first returns who stands first in a line; -1 if nobody does.
func (s *state) first(k int) int { return s.next(k, -1) }

// blocked reports what is in the way of w: a holder, or one that stands before its place; at is the key, -1 if nothing is.
func (x *script) blocked(w int, stands bool) (at int, byHolder bool) {
	its := x.m.roles[w].want
	for k := range keys {
		if !its.keys().has(k) {
			continue
		}
		if x.refused(w, k) {
			return k, true
		}
		if x.has(w, k) {
			continue
		}
		newest := -1
		for v, other := range x.callers {
			if v == w || !x.lines[k].has(v) || its.reads.has(k) && x.m.roles[v].want.reads.has(k) {
				continue
			}
			if newest < 0 || other.place[k] > x.callers[newest].place[k] {
				newest = v
			}
			before := other.place[k] < x.callers[w].place[k] || x.m.without == looks && !stands
			if before && x.m.without != newestOnly {
				return k, false
			}
		}
		if x.m.without == newestOnly && newest >= 0 && x.callers[newest].place[k] < x.callers[w].place[k] {
			return k, false
		}
	}
	return -1, false
}

// refused reports whether somebody else holds a key that w wants.
func (x *script) refused(w, k int) bool {
	if h := int(x.writer[k]); h != 0 && h != w+1 {
		return true
	}
	return x.m.roles[w].want.writes.has(k) && x.readers[k]&^one(w) != 0
}

// isEarliest reports whether all that stand first in the lines of w came later than w.
func (x *script) isEarliest(w int) bool {
	for k := range keys {
		v := x.first(k)
		if x.m.roles[w].want.keys().has(k) && v >= 0 && x.callers[v].place[k] <= x.callers[w].place[k] {
			return false
		}
	}
	return true
}
