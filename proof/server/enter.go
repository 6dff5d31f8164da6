package server

import "fmt"

// A front is what stands in a line when a waiter enters it.
type front int

const (
	nobody     front = iota // or the waiter has a place already
	onlyGuards              // or they stand behind somebody
	someone
	renewed // somebody who has entered in this second, so the line lives for long enough
	behind  // somebody who came later
)

// isWaited reports whether somebody is known to wait before a waiter that enters.
func (f front) isWaited() bool { return f == someone || f == renewed }

// EntryFor is the entry of a waiter in the line of the i-th key, alive until then. That of its first key names all.
func (o Obtaining) EntryFor(i int, till int64) Entry {
	n := len(o.Set)
	e := Entry{
		ID: o.Line.ID, Till: till, Mode: Read, Sharded: o.Line.Sharded, Fenced: o.Can.Fenced, TTL: o.TTL, Keys: n,
		Channel: o.Line.Channel, Value: o.Value,
	}
	if i < o.Writes {
		e.Mode = Write
	}
	if n == 1 {
		return e
	}
	if i > 0 {
		e.names = o.Set[0].Key
		return e
	}
	e.Home = true
	for k, s := range o.Set {
		mode := Read
		if k < o.Writes {
			mode = Write
		}
		e.names += fmt.Sprintf("%s%d:%s", mode.letter(), len(s.Key), s.Key)
	}
	// One that may read some of its keys already, under other metadata, names a key that no script has: so it is told to
	// ask, and finds what it has.
	if n > o.Writes && o.Can.Search {
		e.names += "r0:"
	}
	return e
}

// standsWell reports whether a waiter stands in each of its lines, and was written there a moment ago: then nothing is to
// be written.
func (r *run) standsWell(o Obtaining, place spotInLine) bool {
	const moment = 500 // ms
	first, ok := r.entryAt(0, o.Line.ID, place)
	if !place.known || !ok || first.Till-r.now < waiterLife-moment {
		return false
	}
	for i, s := range r.set {
		score, ok := r.score(s.Line, o.EntryFor(i, first.Till).String())
		if !ok || score != place.place {
			return false
		}
	}
	return true
}

// placeFor is where a waiter comes to stand that has none yet: at the moment of its arrival, which is its age ago. Nobody else
// has that place in any line. If the clock has gone back, it is behind all others. It returns what stands in each line, too.
func (r *run) placeFor(o Obtaining) (at float64, fronts []front) {
	fronts, lasts := make([]front, len(r.set)), make([]float64, len(r.set))
	at = max(float64(r.Micros-o.Line.Age.Microseconds()), 1)
	for i := range r.set {
		lasts[i], fronts[i] = r.lastPlace(i)
		if lasts[i] > float64(r.Micros) {
			at = max(at, lasts[i]+1)
		}
	}
	for r.isTaken(at) {
		at++
	}
	for i := range r.set {
		if fronts[i].isWaited() && lasts[i] > at {
			fronts[i] = behind
		}
	}
	return at, fronts
}

// isTaken reports whether somebody has a place in one of the lines.
func (r *run) isTaken(place float64) bool {
	for _, s := range r.set {
		for _, m := range r.members(s.Line) {
			if m.Score == place {
				return true
			}
		}
	}
	return false
}

// enter has a waiter enter its lines at a place, which it has had before if fronts is nil. A line lives twice as long as a
// waiter counts as alive, and never less than its guards.
func (r *run) enter(o Obtaining, place float64, fronts []front) {
	const life = 2 * waiterLife
	for i, s := range r.set {
		left := r.left(s.Line, r.now)
		r.Add(s.Line, o.EntryFor(i, r.now+waiterLife).String(), millis(place))
		stays := (fronts == nil || fronts[i] == onlyGuards) && left >= life
		if (fronts == nil || fronts[i] != renewed) && !stays {
			r.ends(s.Line, r.now+life, r.now)
		}
	}
}

// lastPlace is the last place in a line, 0 if nobody stands there, and what does.
func (r *run) lastPlace(i int) (last float64, there front) {
	line := r.set[i].Line
	r.of(Sorted, line)
	for _, m := range r.members(line) {
		if there = someone; m.IsGuard() {
			there = onlyGuards
			r.dropEndedGuards(line)
			break
		}
		last = m.Score
	}
	// A place is a moment.
	second := float64(r.Micros / 1e6 * 1e6)
	if there == someone && last >= second && last < second+1e6 {
		there = renewed
	}
	return last, there
}

// leave takes a waiter out of its lines.
func (r *run) leave(o Obtaining, place spotInLine) {
	for i := range r.set {
		r.leaveLine(i, o.Line.ID, place)
		delete(r.heads, i)
	}
}
