package proto

import (
	"slices"
	"strconv"

	"github.com/seed-14de3678/redislock/internal/owners"
)

// This file is how a try says whose request it is, and which late requests it closes: the stamp, which guard.lua
// reads. Which number a request has and what it closes is a matter of package owners.

// A try is what a run says the next time that it is sent, beside what it asks for.
type try struct {
	stamp  []any    // the stamp and the letters; nil if there is neither, and nothing behind them
	behind []string // lines in which only guards are to be set, behind all other keys
	rest   []any    // arguments behind its own
	spared []any    // indexes of keys that a release is not to free, as it is told them
	keeps  bool     // an Obtain of read keys leaves write keys of its token what they are: others count on them
	args   [2]any   // the stamp and the letters, as they are sent
}

// Letters tell a script what it may do: 1, it has guards to set; or k, it may have, and read keys that its token writes
// stay what they are; s, a reader that is not found under its value is searched for; a, a refusal names all keys that are
// in the way. All texts of them are here, so that none is put together, and boxed, for each try.
var letters = [...]any{"", "1", "k", "s", "1s", "ks", "a", "1a", "ka", "sa", "1sa", "ksa"}

const (
	letterCloses   = 1
	letterKeeps    = 2
	letterSearches = 3
	letterAll      = 6
)

// Prepare says of the next try what its owner has to say. It is called right before the try is sent. It reports
// whether the try can be a part of a bundle: where there is a line, and so where there is a guard, batch.lua does
// nothing; but it sets none, and spares nothing.
func (r *Run) Prepare(s *owners.Stamp) (bundled bool) {
	r.spare(s.Spared)
	r.behind, r.stamp, r.rest = nil, nil, sparing(len(r.own), r.spared)
	which := r.letters(s)
	switch text := r.text(s); {
	case text != "":
		sent := text                           // only a stamp that is sent is worth an allocation
		r.args = [2]any{&sent, letters[which]} // by reference: hooks of the Redis client are not to print it
		r.stamp = r.args[:]
	case which != 0 || len(r.own)+len(r.spared) > 0:
		r.args = [2]any{"", letters[which]}
		r.stamp = r.args[:]
	}
	return len(s.Closes) == 0 && len(r.spared) == 0
}

// letters say what the script may do. A run finds its token among readers under another value than its own only if callers
// know the token, and somebody has used it with another value.
func (r *Run) letters(s *owners.Stamp) (which int) {
	switch {
	case r.keeps:
		which = letterKeeps
	case len(s.Closes) > 0:
		which = letterCloses
	}
	if r.may.looks && s.Known {
		which += letterSearches
	}
	if r.may.all {
		which += letterAll
	}
	return which
}

// Yield has the run undo nothing that others of its token have obtained since its operation has begun. It reports
// false if it would always, so that it is not to be sent.
func (r *Run) Yield() bool {
	switch r.script {
	case rwScript:
		r.keeps = r.may.reads
	case refreshScript:
		r.neverShorten()
	case convertScript:
		return r.keepLeases()
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
	token := tokenOf(*r.value)
	b := []byte(strconv.Itoa(len(r.keys)) + "|")
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

// placeOf is the place of a line among the KEYS of the script, where it comes to stand if it does not yet.
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

// spare notes the keys that a release is not to free.
func (r *Run) spare(spares []owners.Spare) {
	if r.spared = nil; len(spares) == 0 {
		return
	}
	named := make(map[string]bool, len(spares))
	for _, s := range spares {
		index := strconv.Itoa(s.Index + 1)
		if r.marked[s.By] {
			index += "|" + r.mark
		}
		if !named[index] {
			named[index] = true
			r.spared = append(r.spared, index)
		}
	}
}

// Spared returns how many times the latest try has named a key that it was not to free.
func (r *Run) Spared() int { return len(r.spared) }

// SparedKeys returns the keys that the latest try was to leave to others of the token, whatever they have marked.
func (r *Run) SparedKeys() (keys []string) {
	for _, index := range r.spared {
		if i, err := strconv.Atoi(index.(string)); err == nil {
			keys = append(keys, r.keys[i-1])
		}
	}
	return keys
}

// sparing returns what stands behind so many own arguments of a release if it is not to free the keys of these indexes.
func sparing(own int, indexes []any) (rest []any) {
	if len(indexes) == 0 {
		return nil
	}
	for range 5 - own { // up to the time for which they are left
		rest = append(rest, "")
	}
	return append(rest, indexes...)
}
