package property_test

import (
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

// A hold is what one owner has of one key.
type hold struct {
	mode mode
	end  time.Time
	left bool // by nobody: see [Lock.Leave]
}

// A model says who holds which key. An owner is a token, or, for a key that was left, a name of its own.
type model map[string]map[string]hold // key, owner

// expire forgets leases that are over.
func (m model) expire(now time.Time) {
	for _, owners := range m {
		maps.DeleteFunc(owners, func(_ string, h hold) bool { return !h.end.After(now) })
	}
}

// ends reports whether a lease ends at this very moment: servers do not agree about that one.
func (m model) ends(now time.Time) bool {
	for _, owners := range m {
		for _, h := range owners {
			if h.end.Equal(now) {
				return true
			}
		}
	}
	return false
}

// inTheWay returns the keys of a set that owner cannot have.
func (m model) inTheWay(owner string, set map[string]mode) (keys []string) {
	for key, wanted := range set {
		for other, h := range m[key] {
			if other != owner && (wanted == write || h.mode == write) {
				keys = append(keys, key)
				break
			}
		}
	}
	return keys
}

// grant gives a set to owner. A lease that it has already is never made shorter.
func (m model) grant(owner string, set map[string]mode, end time.Time) {
	for key, mode := range set {
		if h, ok := m[key][owner]; ok && h.end.After(end) {
			m.put(key, owner, hold{mode: mode, end: h.end})
		} else {
			m.put(key, owner, hold{mode: mode, end: end})
		}
	}
}

func (m model) put(key, owner string, h hold) {
	if m[key] == nil {
		m[key] = map[string]hold{}
	}
	m[key][owner] = h
}

// lacks returns the keys of a set that owner does not hold in the mode of the set.
func (m model) lacks(owner string, set map[string]mode) (keys []string) {
	for key, mode := range set {
		if h, ok := m[key][owner]; !ok || h.mode != mode {
			keys = append(keys, key)
		}
	}
	return keys
}

// String lists what is held, for comparison.
func (m model) String() string {
	var lines []string
	for key, owners := range m {
		for owner, h := range owners {
			lines = append(lines, line(key, h.mode, owner, h.left, h.end))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func line(key string, mode mode, owner string, left bool, end time.Time) string {
	state := "held by"
	if left {
		state = "left by"
	}
	owner, _, _ = strings.Cut(owner, "/")
	return fmt.Sprintf("%s: %s, %s %s until %s", key, mode, state, owner, end.UTC().Format("15:04:05.000"))
}
