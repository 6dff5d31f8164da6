package server

import "slices"

// Whoever waits for a set of keys stands in the line of each of them, at the same place in all. So the order is the same
// everywhere, and waiters of overlapping sets cannot wait for each other. A waiter that has not asked for too long is dead;
// one whose channel nobody hears is gone. Both are dropped when a script meets them.

// A waiting is what a run knows of those who wait.
type waiting struct {
	hasCaller bool
	caller    string   // the channel of the caller: what is to be told there stands in the reply instead
	told      []string // that

	tellFirst map[int]bool // lines whose first waiters have to be told that they are
	dropped   bool         // somebody was dropped whom others may have waited for
	gone      int          // entries of those
	more      bool         // there are more than may be dropped at once: the next script goes on

	// What a run remembers of lines, which is why it knows who is the first of some without asking once more: the first
	// two, as they were read, until they may be others; and the first, where somebody else was taken out.
	fronts map[int][]Member
	heads  map[int]Member
	wishes map[string]wish // of waiters, by id

	handing
}

// mayDrop counts the entries of a waiter that is to be dropped, and reports whether it may be.
func (r *run) mayDrop(entries int) bool {
	r.more = r.more || r.gone >= mostGone
	if !r.more {
		r.gone += entries
	}
	return !r.more
}

// line is the line of the i-th key; empty if something else is there. Nobody waits for an intent, of which a clean-up
// says that it is its own line.
func (r *run) line(i int) []Member {
	if s := r.set[i]; s.Line != s.Key {
		return r.members(s.Line)
	}
	return nil
}

// tell tells a waiter something, and returns how many hear it.
func (r *run) tell(e Entry, text string) int {
	if r.hasCaller && e.Channel == r.caller {
		if text != "" {
			r.told = append(r.told, text)
		}
		return 1
	}
	return r.publish(e.Sharded, e.Channel, text)
}

// A spotInLine is where a waiter stands, if that is known; then it stands there once.
type spotInLine struct {
	place float64
	known bool
}

func at(place float64) spotInLine { return spotInLine{millis(place), true} }

// entryAt finds the entry of a waiter in the line of the i-th key.
func (r *run) entryAt(i int, id string, where spotInLine) (Entry, bool) {
	for _, m := range r.line(i) {
		if m.isOf(id) && (!where.known || m.Score == where.place) {
			return EntryOf(m), true
		}
	}
	return Entry{}, false
}

// leaveLine takes a waiter out of the line of the i-th key, as often as it stands there if its place is not known: a late
// request may have entered it once more. It reports in which mode the waiter wanted the key.
func (r *run) leaveLine(i int, id string, where spotInLine) (mode Mode) {
	delete(r.fronts, i)
	for {
		e, ok := r.entryAt(i, id, where)
		if !ok {
			return mode
		}
		mode = e.Mode
		r.quit(i, e.Text)
		if where.known {
			return mode
		}
	}
}

// quit takes an entry out of the line of the i-th key.
func (r *run) quit(i int, text string) {
	if r.kind(r.set[i].Line) == Sorted {
		r.remove(r.set[i].Line, func(m Member) bool { return m.Text == text })
	}
}

// A wish is which keys of the set a waiter wants, in the order in which it names them.
type wish struct {
	where []int
	modes map[int]Mode
}

// wishOf is what the waiter wants that was met in the line of the i-th key; false if that is not all in the set. Of one that
// wants several it is looked for once.
func (r *run) wishOf(e Entry, i int) (w wish, ok bool) {
	if e.Keys == 1 {
		return wish{[]int{i}, map[int]Mode{i: e.Mode}}, true
	}
	w, known := r.wishes[e.ID]
	if !known {
		w = r.named(e)
		note(&r.wishes, e.ID, w)
	}
	return w, w.modes[i] != "" // else it names other keys alone
}

// named is what a waiter wants, as the entry at its home names it; nothing if that is not all in the set.
func (r *run) named(e Entry) (w wish) {
	names := e.Names
	if !e.Home {
		home, found := Entry{}, false
		if j := r.indexOf(names[0].Key); j >= 0 {
			home, found = r.entryAt(j, e.ID, at(e.Place))
		}
		if !found {
			return w
		}
		names = home.Names
	}
	w.modes = map[int]Mode{}
	for _, name := range names {
		j := r.indexOf(name.Key)
		if j < 0 {
			return wish{}
		}
		w.where = append(w.where, j)
		w.modes[j] = name.Mode
	}
	return w
}

func (r *run) indexOf(key string) int {
	return slices.IndexFunc(r.set, func(s Spot) bool { return s.Key == key })
}

// takeOut takes a waiter out of the line of the j-th key.
func (r *run) takeOut(j int, e Entry) {
	front := r.fronts[j]
	if its, ok := r.entryAt(j, e.ID, at(e.Place)); ok && len(front) > 0 && front[0].Text == its.Text {
		front = front[1:]
	}
	r.leaveLine(j, e.ID, at(e.Place))
	if delete(r.heads, j); len(front) > 0 {
		note(&r.heads, j, front[0])
	}
}

// first is who stands first in the line of the i-th key.
func (r *run) first(i int) (e Entry, ok bool) {
	line, known := r.fronts[i]
	if head, ok := r.heads[i]; ok {
		line, known = []Member{head}, true
	}
	if !known {
		line = r.line(i)
	}
	if len(line) == 0 {
		return e, false
	}
	return EntryOf(line[0]), true
}

// drop drops a waiter that is dead or gone, met in the line of the i-th key, out of all its lines that the run has, and reports
// whether it did. One that stood first, or may have, was to ask when the lease before it is over: whoever is first now has
// to be told.
func (r *run) drop(i int, e Entry, first bool) bool {
	where := []int{i}
	if e.ID != "" && !r.more {
		if w, ok := r.wishOf(e, i); ok {
			where = w.where
		}
	}
	if !r.mayDrop(len(where)) {
		return false
	}
	if e.ID == "" {
		delete(r.fronts, i)
		r.quit(i, e.Text)
	}
	for _, j := range where {
		if e.ID != "" {
			r.takeOut(j, e)
		}
		if j != i || first {
			r.tells(j)
		}
	}
	r.dropped = true
	return true
}

// tells notes that the first in the line of the i-th key has to be told that it is.
func (r *run) tells(i int) {
	if r.tellFirst == nil {
		r.tellFirst = map[int]bool{}
	}
	r.tellFirst[i] = true
}

// A visit is what somebody who walks along a line does with a living waiter.
type visit struct {
	enough  bool // it goes no further
	removed bool // the entry is not there any more
}

// walk goes along a line, as far as its waiters live, and drops the dead. It ends at the first guard. What is visited is told
// the entry behind, if that was read together with it: the first two are, and then so many more. It returns the entry of a dead one
// that stays because too many were dropped: who stands behind is not visited.
func (r *run) walk(i int, see func(e Entry, behind *Entry) visit) (stays *Entry) {
	from, step := 0, 2
	for all := false; !all; step = mostFront {
		part, known := r.fronts[i]
		if step != 2 || !known {
			line := r.line(i)
			part = slices.Clone(line[min(from, len(line)):min(from+step, len(line))])
		}
		if step == 2 {
			note(&r.fronts, i, part)
		}
		for k, m := range part {
			if m.IsGuard() {
				if m.hasEnded(r.now) {
					r.dropEndedGuards(r.set[i].Line)
				}
				return nil
			}
			e := EntryOf(m)
			if e.Till <= r.now {
				if !r.drop(i, e, from == 0) {
					return &e
				}
				continue
			}
			var behind *Entry
			if k+1 < len(part) {
				next := EntryOf(part[k+1])
				behind = &next
			}
			v := see(e, behind)
			if v.enough {
				return nil
			}
			if !v.removed {
				from++
			}
		}
		all = len(part) < step
	}
	return nil
}

// waiterBefore is whom a token that wants the i-th key in a mode has to let go first: whoever came before its place, or at
// all if it has none. Readers do not wait for readers, and nobody for itself.
func (r *run) waiterBefore(i int, mode Mode, token string, place spotInLine) *Entry {
	var found *Entry
	stays := r.walk(i, func(e Entry, _ *Entry) visit {
		switch {
		case place.known && e.Place >= place.place:
			return visit{enough: true}
		case mode == Read && e.Mode == Read, e.Value.Token() == token:
			return visit{}
		case r.tell(e, "") != 0 || !r.drop(i, e, true):
			found = &e
			return visit{enough: true}
		}
		return visit{removed: true}
	})
	if found != nil {
		return found
	}
	return stays
}

// by is the refusal of the i-th key because somebody came before.
func (r *run) by(i int, e *Entry) *Refusal {
	return &Refusal{i + 1, Queue, max(0, e.Till-r.now), e.Value.Metadata()}
}
