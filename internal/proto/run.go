package proto

import (
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A Set is the lock keys of a request, and the names that stand beside them.
type Set struct {
	Keys   []string // those to write, then those to read
	Writes int      // how many of them are to be written
	Lines  []string // where one waits for each of them
	Fences []string // where their fencing numbers are; nil: they are not fenced
}

// reads is how many of the keys are to be read.
func (s *Set) reads() int { return len(s.Keys) - s.Writes }

// isFenced reports whether the set has fencing numbers.
func (s *Set) isFenced() bool { return s.Fences != nil }

// beside is what stands behind the keys. It is not to be changed.
func (s *Set) beside(more ...string) []string {
	if len(s.Fences)+len(more) == 0 {
		return s.Lines
	}
	return slices.Concat(s.Lines, s.Fences, more)
}

// A Request is what a script is asked for. Fill makes a new Run one of it.
type Request interface{ Fill(r *Run) }

// A Run is one run of a script: what it is called with, and what its reply is read by. It is filled by one of the
// requests, and may be sent several times. What it says of its owner may be another thing each time: see Prepare.
type Run struct {
	script *script
	keys   []string      // the lock keys
	beside []string      // what stands behind them
	lined  bool          // that begins with as many lines
	home   string        // the line of the first key, where it asks for the guard of its owner
	value  *string       // by reference: hooks of the Redis client are not to print it
	ttl    int64         // ms; 0: the script has none
	own    []any         // arguments that its script alone has
	effect owners.Effect // on what its owner holds
	may    abilities

	place Place        // of a waiter that may have entered its lines, if it is sent once more
	at    *string      // the argument that says so; nil: there is none
	keep  clock.Moment // the keys are to be left until then
	left  *string      // the argument that says for how long; nil: there is none

	mark   string // see Release.Mark
	marked map[owners.Client]bool
	try
}

// abilities are what a run may say or ask for beside its arguments.
type abilities struct {
	plain  bool // batch.lua can do it as well
	reads  bool // it takes keys to read
	looks  bool // it looks for its token among the readers of keys, under other metadata, too
	fenced bool // its reply has a fencing number
	all    bool // a refusal is to name all keys that are in the way
}

// fill makes a new Run one of a script, for a set.
func (r *Run) fill(s *script, set *Set, value *string, ttl time.Duration) {
	r.script, r.lined, r.keys, r.value, r.ttl = s, s.lined, set.Keys, value, clock.Millis(ttl)
	if s.lined {
		r.beside = set.Lines
	}
	if len(set.Lines) > 0 {
		r.home = set.Lines[0]
	}
}

// Script returns the script.
func (r *Run) Script() *wire.Script { return r.script.Script }

// Keys returns the lock keys. They are not to be changed.
func (r *Run) Keys() []string { return r.keys }

// Home returns the line where the run asks for the guard of its owner.
func (r *Run) Home() string { return r.home }

// Effect returns what it does to what its owner holds.
func (r *Run) Effect() owners.Effect { return r.effect }

// Frees reports whether it frees keys, and so spares those that others of its token count on.
func (r *Run) Frees() bool { return r.script == releaseScript }

// IsPlain reports whether batch.lua can do it as well, as far as its request says.
func (r *Run) IsPlain() bool { return r.may.plain }

// Takes reports whether it writes what was not there before, and so may be refused for want of memory.
func (r *Run) Takes() bool { return r.ttl > 0 }

// Size returns how many keys the next try has, and how many arguments at most.
func (r *Run) Size() (keys, args int) {
	return len(r.keys) + len(r.beside) + len(r.behind), 4 + len(r.own) + len(r.rest)
}

// Append appends the number of keys, the keys and the arguments of the next try.
func (r *Run) Append(to []any) []any {
	n, _ := r.Size()
	to = append(to, n)
	for _, key := range r.keys {
		to = append(to, key)
	}
	for i := range r.beside {
		to = append(to, &r.beside[i]) // by reference, which allocates nothing
	}
	for i := range r.behind {
		to = append(to, &r.behind[i])
	}
	return append(append(r.head(to), r.own...), r.rest...)
}

// head appends what scripts are told first: the value, the ttl, the stamp and the letters, as far as there are any.
func (r *Run) head(to []any) []any {
	if r.value != nil {
		to = append(to, r.value)
	}
	if r.ttl != 0 {
		to = append(to, r.ttl)
	}
	return append(to, r.stamp...)
}

// IsLike reports whether another run of the same script differs in its value alone. Of those with a stamp each has its own.
func (r *Run) IsLike(another wire.Run) bool {
	o := another.(*Run)
	return r.ttl == o.ttl && slices.Equal(r.keys, o.keys) && slices.Equal(r.beside, o.beside) && slices.Equal(r.behind, o.behind) &&
		slices.Equal(r.stamp, o.stamp) && slices.Equal(r.own, o.own) && slices.Equal(r.rest, o.rest)
}

// Resent takes note that the run is about to be sent once more although an earlier try may have been executed.
func (r *Run) Resent() {
	if r.at != nil {
		*r.at = r.place.OrUnknown().argument()
	}
	if r.left != nil {
		*r.left = timeUntil(r.keep)
	}
}

// flag is how scripts are told yes or no.
func flag(yes bool) string {
	if yes {
		return "1"
	}
	return ""
}

// tokenOf is the token of a stored value.
func tokenOf(value string) string {
	token, _, _ := strings.Cut(value, "|")
	return token
}

// Bundle is how batch.lua does many plain runs at once, see package wire: it is told the keys of all runs, then their
// lines; and for each run how many keys it has, its value, and its ttl, 0 if it has none. It says of each what was done.
func Bundle() *wire.Bundle {
	return &wire.Bundle{Script: batchScript.Script, Append: appendBundle, Done: int64(Done), Undone: int64(Refused)}
}

func appendBundle(to []any, calls []*wire.Call) []any {
	n := 0
	for _, c := range calls {
		n += 2 * len(c.Keys)
	}
	to = append(to, n)
	for _, c := range calls {
		for i := range c.Keys {
			to = append(to, &c.Keys[i])
		}
	}
	for _, c := range calls {
		r := c.Run.(*Run)
		for i := range r.beside {
			to = append(to, &r.beside[i])
		}
	}
	ttls := make([]int64, len(calls)) // so that they are boxed once for all
	for i, c := range calls {
		r := c.Run.(*Run)
		ttls[i] = r.ttl
		to = append(to, len(r.keys), r.value, &ttls[i])
	}
	return to
}
