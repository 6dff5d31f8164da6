package proto

import (
	"slices"
	"strconv"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A Set is the lock keys of a request, and the names that stand beside them.
type Set struct {
	Keys   []string // the write keys, then the read keys
	Writes int      // the number of write keys
	Lines  []string // the lines beside them
	Fences []string // the fences beside them; nil: they are not fenced
}

// Reads is the number of read keys.
func (s *Set) Reads() int { return len(s.Keys) - s.Writes }

// IsFenced reports whether the set has fencing numbers.
func (s *Set) IsFenced() bool { return s.Fences != nil }

// beside is what stands behind the keys. It is not to be changed.
func (s *Set) beside(more ...string) []string {
	if len(s.Fences)+len(more) == 0 {
		return s.Lines
	}
	return slices.Concat(s.Lines, s.Fences, more)
}

// A Request is a request to a script. Fill makes a new Run of it.
type Request interface{ Fill(r *Run) }

// A Run is one run of a script: how it is called, and how its reply is read. One of the requests fills it, and it may
// be sent several times. What it says of its owner may differ each time: see Prepare.
type Run struct {
	script *script
	keys   []string      // the lock keys
	beside []string      // what stands behind them
	lined  bool          // it begins with as many lines
	home   string        // the line of the first key, where it asks for the guard of its owner
	value  *string       // by reference, so that hooks of the Redis client do not print it
	ttl    int64         // ms; 0: the script has none
	writes int           // how many keys are written: the first ones
	own    []any         // arguments that its script alone has; none is empty at the end
	effect owners.Effect // on what its owner holds
	may    abilities

	waiter *Waiter      // it stands in line; nil: there is none
	at     *string      // the argument that says where the waiter stands
	keep   clock.Moment // the keys are left until then
	next   *Next        // who is to get the keys of a release; nil: nobody is known
	left   *string      // the argument that says for how long; nil: there is none
	try
}

// abilities are what a run may say or ask for beside its arguments.
type abilities struct {
	plain  bool // lua/batch.lua can do it as well
	looks  bool // it looks for its token among the readers of keys, under other metadata, too
	fenced bool // the set is fenced
	block  bool // its number is the last of a block
	keeps  bool // it leaves longer leases as they are
}

// fill makes a new Run one of a script, for a set.
func (r *Run) fill(s *script, set *Set, value *string, ttl time.Duration) {
	r.script, r.lined, r.keys, r.value, r.ttl = s, s.lined, set.Keys, value, clock.Millis(ttl)
	r.writes = len(r.keys)
	if s.lined {
		r.beside = set.Lines
	}
	if len(set.Lines) > 0 {
		r.home = set.Lines[0]
	}
}

// Plain makes a new Run one that takes keys to write for a ttl and asks for nothing else, see [Obtain], or frees them and
// says nothing else if the ttl is 0, see [Release].
func (r *Run) Plain(keys, lines []string, value *string, ttl time.Duration) {
	if r.script, r.effect = obtainScript, owners.Takes; ttl == 0 {
		r.script, r.effect = releaseScript, owners.Lessens
	}
	r.lined, r.may.plain, r.ttl = true, true, ttl.Milliseconds()
	r.keys, r.writes, r.beside, r.home, r.value = keys, len(keys), lines, lines[0], value
	r.shape = shapeOf(len(keys))
}

// shapeOf is the shape of a set of so many write keys, if its script may do nothing special; nil for one.
func shapeOf(n int) any {
	switch {
	case n == 1:
		return nil
	case n < len(shapes):
		return &shapes[n] // by reference, which allocates nothing
	}
	return strconv.Itoa(n)
}

// shapes are the shapes of sets of write keys, by their number of keys.
var shapes = func() (all [100]string) {
	for n := range all {
		all[n] = strconv.Itoa(n)
	}
	return all
}()

// Script returns the script.
func (r *Run) Script() *wire.Script { return r.script.Script }

// Keys returns the lock keys. They are not to be changed.
func (r *Run) Keys() []string { return r.keys }

// Home returns the line where the run looks for the guard of its owner.
func (r *Run) Home() string { return r.home }

// Effect returns what the run does to what its owner holds.
func (r *Run) Effect() owners.Effect { return r.effect }

// Frees reports whether it frees keys, and so spares keys that other locks of its token count on.
func (r *Run) Frees() bool { return r.script == releaseScript }

// IsPlain reports whether its request lets lua/batch.lua do it as well.
func (r *Run) IsPlain() bool { return r.may.plain }

// Takes reports whether it writes something new, and so may be refused for want of memory.
func (r *Run) Takes() bool { return r.ttl > 0 }

// Size returns how many keys and how many arguments the next try has.
func (r *Run) Size() (keys, args int) {
	if args = r.head() + len(r.own); len(r.spared) > 0 {
		args = headLength + releaseOwn + len(r.spared)
	}
	return len(r.keys) + len(r.beside) + len(r.behind), args
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
	return r.arguments(to)
}

// headLength is how many arguments come first in every script: see lua/include/head.lua.
const headLength = 4

// head is how many of the first arguments the next try has: empty ones at the end are left out.
func (r *Run) head() int {
	switch {
	case r.stamp != nil || len(r.own)+len(r.spared) > 0:
		return headLength
	case r.shape != nil:
		return 3
	case r.ttl != 0 || r.left != nil:
		return 2
	case r.value != nil:
		return 1
	}
	return 0
}

// arguments appends the arguments of the next try: first its value, its ttl, the shape of its set and its stamp.
func (r *Run) arguments(to []any) []any {
	head := [headLength]any{"", "", "", ""}
	if r.value != nil {
		head[0] = r.value
	}
	switch {
	case r.left != nil:
		head[1] = r.left
	case r.ttl != 0:
		head[1] = r.ttl
	}
	if r.shape != nil {
		head[2] = r.shape
	}
	if r.stamp != nil {
		head[3] = r.stamp
	}
	to = append(append(to, head[:r.head()]...), r.own...)
	if len(r.spared) == 0 {
		return to
	}
	for range releaseOwn - len(r.own) {
		to = append(to, "")
	}
	for _, i := range r.spared {
		to = append(to, i+1)
	}
	return to
}

// IsLike reports whether another run of the same script differs only in its value. Each run with a stamp has its own.
func (r *Run) IsLike(another wire.Run) bool {
	o := another.(*Run)
	return r.ttl == o.ttl && slices.Equal(r.keys, o.keys) && slices.Equal(r.beside, o.beside) && slices.Equal(r.behind, o.behind) &&
		r.stamp == o.stamp && r.shape == o.shape && slices.Equal(r.own, o.own)
}

// Resent notes that the run is about to be sent once more although an earlier try may have been executed.
func (r *Run) Resent() {
	if r.at != nil {
		*r.at = r.waiter.where(r.waiter.Place.OrUnknown())
	}
	if r.left != nil {
		*r.left = timeUntil(r.keep)
	}
}

// withoutEmpty leaves out empty arguments at the end.
func withoutEmpty(args []any) []any {
	for len(args) > 0 && args[len(args)-1] == "" {
		args = args[:len(args)-1]
	}
	return args
}

// Bundle is how lua/batch.lua does many plain runs at once, see package wire. It gets the keys of all runs, then their
// lines; and for each run its value, its ttl, which may be empty, and its number of keys. For each run it says what was
// done.
func Bundle() *wire.Bundle {
	return &wire.Bundle{Script: batchScript.Script, Append: appendBundle, Done: int64(Done), Undone: int64(Refused)}
}

func appendBundle(to []any, calls []*wire.Call) []any {
	n := 0
	for _, c := range calls {
		n += 2 * len(c.Run.Keys())
	}
	to = append(to, n)
	for _, c := range calls {
		keys := c.Run.Keys()
		for i := range keys {
			to = append(to, &keys[i])
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
		to = append(to, r.value, "", len(r.keys))
		if ttls[i] = r.ttl; r.ttl > 0 {
			to[len(to)-2] = &ttls[i]
		}
	}
	return to
}
