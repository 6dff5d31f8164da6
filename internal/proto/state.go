package proto

import (
	"errors"
	"strconv"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
)

// This file says how lua/inspect.lua and lua/again.lua are called, which change nothing that is held, and what they answer.

// An Inspect asks who has a key, and who waits for it.
type Inspect struct{ Key, Line, Intent, Fence string }

// Fill makes a new Run of this request.
func (q Inspect) Fill(r *Run) {
	r.fill(inspectScript, &Set{Keys: []string{q.Key}}, nil, 0)
	r.beside = []string{q.Line, q.Intent, q.Fence}
}

// A KeyState is what stands at a key, and beside it.
type KeyState struct {
	Mode    Mode
	TTL     time.Duration // of the key; 0 if it is free, negative if it has no TTL
	Type    string        // of a foreign key, else empty
	Fence   int64         // the last fencing number; 0: there is none
	Holders []Holder
	Intent  *Holder // nil: no writer waits
	Line    []Standing
}

// A Standing is a waiter in the line of a key.
type Standing struct {
	Mode   Mode
	Stored string    // its metadata
	Since  time.Time // by the server's clock
	Alive  bool
}

// State reads the reply to an [Inspect]. It has no code: it always has everything.
func (r *Run) State(reply any) (s KeyState, err error) {
	all, _ := reply.([]any)
	v := values{rest: all}
	s.Mode, s.TTL = v.text(), v.time()
	if s.Mode == ModeFree {
		s.TTL = 0
	}
	s.Fence = v.number()
	if left, stored, since := v.number(), v.text(), v.text(); left != -2 {
		s.Intent = &Holder{Stored: stored, TTL: clock.FromMillis(left), Since: owners.MadeAt(since)}
	}
	for n := v.number(); n > 0 && !v.bad; n-- {
		h := Holder{Stored: v.text(), TTL: v.time(), Left: v.isOne(), Since: owners.MadeAt(v.text())}
		if s.Mode == ModeForeign {
			s.Type = h.Stored
		} else {
			s.Holders = append(s.Holders, h)
		}
	}
	for v.goesOn() {
		s.Line = append(s.Line, Standing{Mode: v.text(), Stored: v.text(), Since: time.UnixMicro(v.number()), Alive: v.isOne()})
	}
	if v.bad {
		return KeyState{}, errors.New("unexpected reply")
	}
	return s, nil
}

// A Round keeps waiters in their lines, and asks which of them have to ask by themselves. The zero value has no
// waiters.
type Round struct {
	set    Set
	places map[string]string // of the keys, among KEYS
	own    []any
	wanted int
}

// Size is how many keys its waiters want, together.
func (q *Round) Size() int { return q.wanted }

// Add adds a waiter that stands at this place in the lines of its keys.
func (q *Round) Add(id string, place Place, keys, lines []string) {
	if q.places == nil {
		q.places = make(map[string]string)
	}
	q.wanted += len(keys)
	q.own = append(q.own, id, place.number, len(keys))
	for i, key := range keys {
		if q.places[key] == "" {
			q.set.Keys, q.set.Lines = append(q.set.Keys, key), append(q.set.Lines, lines[i])
			q.places[key] = strconv.Itoa(len(q.set.Keys))
		}
		q.own = append(q.own, q.places[key])
	}
}

// Fill makes a new Run of this request.
func (q *Round) Fill(r *Run) {
	r.fill(againScript, &q.set, nil, 0)
	r.own = q.own
	r.form(false, false)
}

// Asks reads the reply to a [Round] of n waiters: the server's clock, and for each waiter that has to ask by itself,
// by index from 0, when.
func (r *Run) Asks(reply any, n int) (micros int64, asks map[int]time.Duration, err error) {
	all, _ := reply.([]any)
	v := values{rest: all}
	micros, asks = v.number(), make(map[int]time.Duration)
	for v.goesOn() {
		index, ms := v.number(), v.number()
		if index < 1 || index > int64(n) {
			return 0, nil, r.Garbled(reply)
		}
		asks[int(index)-1] = clock.FromMillis(max(ms, 0))
	}
	if v.bad || micros <= 0 {
		return 0, nil, r.Garbled(reply)
	}
	return micros, asks, nil
}
