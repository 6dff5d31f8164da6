package proto

import (
	"slices"
	"strconv"

	"github.com/seed-14de3678/redislock/internal/owners"
)

// This file says in each try which owner it is for, and which late requests it closes: the stamp, which guard.lua
// reads. Package owners decides on the numbers, and on what is closed.

// A try is what a run says when it is next sent, beside its request.
type try struct {
	stamp  any      // by reference, so that hooks of the Redis client do not print it; nil: none
	shape  any      // nil: one key to write
	behind []string // lines in which only guards are to be set, behind all other keys
	spared []int    // indexes of the keys that a release must not free
	yields bool     // an Obtain of read keys leaves its token's write keys as they are: others count on them
}

// Prepare fills in what the owner has to say in the next try. It is called right before the try is sent. It reports
// whether the try can be a part of a bundle. Where there is a line, and so where there is a guard, lua/batch.lua does
// nothing; but it sets no guard, and spares nothing.
func (r *Run) Prepare(s *owners.Stamp) (bundled bool) {
	r.behind, r.stamp, r.spared = nil, nil, s.Spared
	// A run finds its token among readers under another value only if callers know the token, and somebody has used it
	// with another value.
	searches := r.may.looks && s.Known
	r.form(len(s.Closes) > 0, searches)
	if text := r.text(s); text != "" {
		sent := text // only a stamp that is sent is worth an allocation
		r.stamp = &sent
	}
	if searches && r.waiter != nil && len(r.keys) > r.writes && len(r.keys) > 1 {
		r.own[2] = r.entry(true)
	}
	return len(s.Closes) == 0 && len(r.spared) == 0
}

// Unstamped fills in the next try of a run whose owner has nothing to say.
func (r *Run) Unstamped() { r.form(false, false) }

// form says what shape the set of the next try has, and what its script may do: see lua/include/head.lua.
func (r *Run) form(closes, searches bool) {
	var all [6]byte
	letters := all[:0]
	for _, l := range [...]struct {
		is     bool
		letter byte
	}{{r.may.block, 'b'}, {closes, 'c'}, {r.may.fenced, 'f'}, {r.yields, 'k'}, {r.may.keeps, 'n'}, {searches, 's'}} {
		if l.is {
			letters = append(letters, l.letter)
		}
	}
	n := len(r.keys)
	switch {
	case len(letters) > 0 || r.writes != n:
		b := strconv.AppendInt(make([]byte, 0, 16), int64(n), 10)
		b = strconv.AppendInt(append(b, '|'), int64(r.writes), 10)
		r.shape = string(append(append(b, '|'), letters...))
	default:
		r.shape = shapeOf(n)
	}
}

// Yield has the run undo nothing that other locks of its token have obtained since its operation began. If it always
// would it must not be sent, and Yield reports false.
func (r *Run) Yield() bool {
	switch r.script {
	case rwScript:
		r.yields = len(r.keys) > r.writes
	case refreshScript:
		r.neverShorten()
	case convertScript:
		r.may.keeps = true
		return len(r.keys) == r.writes // else that would not be enough: it lets readers in
	}
	return true
}

// text writes the stamp of the next try: see guard.lua. It is empty if the try needs none.
func (r *Run) text(s *owners.Stamp) string {
	name, closes := s.Name, s.Closes
	if !s.Numbered {
		return ""
	}
	if name == (owners.Name{}) && len(closes) == 0 && (r.lined || r.effect == owners.Lengthens) {
		return "" // a script that has its line at hand knows what that means
	}
	if !r.lined {
		r.behind = append(r.behind, r.home)
	}
	token := TokenOf(*r.value)
	var b []byte
	write := func(n owners.Name) {
		if n.ID == "" {
			n.ID = token
		}
		b = strconv.AppendInt(append(b, n.ID+"|"...), n.Number, 10)
		b = append(b, '|')
	}
	write(name)
	set := make(map[string]bool, len(closes))
	for _, closed := range closes {
		guard := name
		if closed.ID != guard.ID {
			guard = owners.Name{ID: closed.ID, Number: owners.LastNumber}
		}
		if at := guard.ID + "|" + closed.Home; !set[at] {
			set[at] = true
			write(guard)
			b = append(strconv.AppendInt(b, int64(r.placeOf(closed.Home)), 10), '|')
		}
	}
	return string(b)
}

// placeOf is the place of a line among the KEYS of the script, to which it is added if need be.
func (r *Run) placeOf(line string) int {
	if r.lined {
		if i := slices.Index(r.beside, line); i >= 0 {
			return len(r.keys) + i + 1
		}
	}
	i := slices.Index(r.behind, line)
	if i < 0 {
		i = len(r.behind)
		r.behind = append(r.behind, line)
	}
	return len(r.keys) + len(r.beside) + i + 1
}

// Spared returns how many keys the latest try must not free.
func (r *Run) Spared() int { return len(r.spared) }

// SparedKeys returns the keys that the latest try had to leave to other locks of the token.
func (r *Run) SparedKeys() (keys []string) {
	for _, i := range r.spared {
		keys = append(keys, r.keys[i])
	}
	return keys
}
