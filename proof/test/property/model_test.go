package property_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A mode is how a key is held.
type mode string

const (
	read  mode = "read"
	write mode = "write"
)

// A span is a moment that is known to lie between two others. Where time passes only between operations both are the same.
type span struct{ from, to time.Time }

func (s span) after(d time.Duration) span { return span{s.from.Add(d), s.to.Add(d)} }

// later is the later of two moments.
func (s span) later(o span) span {
	if s.from.Before(o.from) {
		s.from = o.from
	}
	if s.to.Before(o.to) {
		s.to = o.to
	}
	return s
}

// slack is for clocks that count in ms, and for miniredis, which loses up to one ms each time that a key is given the rest of a lease.
const slack = 5 * time.Millisecond

func (s span) has(at time.Time) bool {
	return !at.Before(s.from.Add(-slack)) && !at.After(s.to.Add(slack))
}

func (s span) String() string { return s.to.UTC().Format("15:04:05.000") }

// Who holds a key. The token of a lock that was given none is not known before Redis is looked at: then the owner is named by
// the metadata. Who has left a key is nobody, and known by the metadata alone.
type who struct{ owner, metadata string }

// A hold is what one owner has of one key.
type hold struct {
	mode   mode
	end    span
	number int64 // the fencing number of the lock; 0 if it is not fenced
}

// A model says who holds which key, and what Redis has of it.
type model struct {
	holds  map[string]map[who]hold // by key
	ended  map[string]map[who]span // readers whose lease is over, which may stand beside others still
	fences map[string]int64        // the greatest number of each key
}

func newModel() model {
	return model{map[string]map[who]hold{}, map[string]map[who]span{}, map[string]int64{}}
}

// of returns what an owner has of a key.
func (m model) of(key, owner string) (w who, h hold, ok bool) {
	for w, h := range m.holds[key] {
		if w.owner == owner {
			return w, h, true
		}
	}
	return w, h, false
}

// expire forgets leases that are over.
func (m model) expire(now time.Time) {
	for key, holds := range m.holds {
		for w, h := range holds {
			if h.end.from.After(now) {
				continue
			}
			if m.ended[key] == nil {
				m.ended[key] = map[who]span{}
			}
			m.ended[key][w] = h.end
			m.remove(key, w)
		}
	}
}

// ends reports whether a lease may end between now and a little later.
func (m model) ends(now time.Time, later time.Duration) bool {
	for _, holds := range m.holds {
		for _, h := range holds {
			if h.end.from.Before(now.Add(later)) && h.end.to.After(now) {
				return true
			}
		}
	}
	return false
}

// inTheWay returns the keys of a set that owner cannot have.
func (m model) inTheWay(owner string, set map[string]mode) (keys []string) {
	for key, wanted := range set {
		for w, h := range m.holds[key] {
			if w.owner != owner && (wanted == write || h.mode == write) {
				keys = append(keys, key)
				break
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// grant gives a set to an owner under its metadata. A lease that it has already is never made shorter.
func (m model) grant(to who, set map[string]mode, end span, number int64) {
	for key, mode := range set {
		its := end
		if _, h, ok := m.of(key, to.owner); ok {
			its = h.end.later(end)
		}
		m.put(key, to, hold{mode: mode, end: its, number: number})
		m.fences[key] = max(m.fences[key], number)
	}
}

// put makes a hold all that its owner has of a key.
func (m model) put(key string, w who, h hold) {
	if m.holds[key] == nil {
		m.holds[key] = map[who]hold{}
	}
	maps.DeleteFunc(m.holds[key], func(other who, _ hold) bool { return w.owner != "" && other.owner == w.owner })
	m.holds[key][w] = h
	delete(m.ended[key], w)
	if h.mode == write {
		delete(m.ended, key)
	}
}

// remove ends a hold. The key goes with the last.
func (m model) remove(key string, w who) {
	if delete(m.holds[key], w); len(m.holds[key]) == 0 {
		m.free(key)
	}
}

func (m model) free(key string) {
	delete(m.holds, key)
	delete(m.ended, key)
}

// leave makes what an owner has of a key something that nobody holds until then.
func (m model) leave(key string, w who, until span) {
	h := m.holds[key][w]
	delete(m.holds[key], w)
	left := who{metadata: w.metadata}
	if before, ok := m.holds[key][left]; ok {
		until = until.later(before.end)
	}
	m.put(key, left, hold{mode: h.mode, end: until})
}

// lacks returns the keys of a set that owner does not hold at all.
func (m model) lacks(owner string, set map[string]mode) (keys []string) {
	for key := range set {
		if _, _, ok := m.of(key, owner); !ok {
			keys = append(keys, key)
		}
	}
	return keys
}

// number returns the fencing number that an owner has for a whole set already, in these modes or stronger ones; 0 if there is
// none, and so it has to be given a new one.
func (m model) number(owner string, set map[string]mode) (number int64) {
	for key, wanted := range set {
		_, h, ok := m.of(key, owner)
		if !ok || h.mode == read && wanted == write || number != 0 && h.number != number {
			return 0
		}
		number = h.number
	}
	return number
}

// greatest returns the greatest number that was given for any key of a set.
func (m model) greatest(set map[string]mode) (number int64) {
	for key := range set {
		number = max(number, m.fences[key])
	}
	return number
}

// end is when a key is over: with the last of its leases.
func (m model) end(key string) (end span) {
	for _, h := range m.holds[key] {
		end = end.later(h.end)
	}
	return end
}

// String lists what is held.
func (m model) String() string {
	var lines []string
	for key, holds := range m.holds {
		for w, h := range holds {
			lines = append(lines, fmt.Sprintf("  %s: %s by %s %q until %s, number %d",
				key, h.mode, cmp.Or(w.owner, "nobody"), w.metadata, h.end, h.number))
		}
	}
	slices.Sort(lines)
	if len(lines) > 20 {
		lines = append(lines[:20], fmt.Sprintf("  and %d more", len(lines)-20))
	}
	return strings.Join(lines, "\n")
}
