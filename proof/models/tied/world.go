package tied

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A World is what a server has of locks at one moment. All moments are counted from the same one, and so are fencing numbers,
// in µs. In a world with numbers it is later than 0, because 0 is no number. The order of what stands in a list does not matter.
type World struct {
	Now     time.Duration
	Holds   []Hold
	Ends    []End
	Waiters []Waiter
	Guards  []Guard
	Numbers []Number
	Intents []Intent
}

// A Hold is one token that holds a key, or a key that its owner has left: then it has no token.
type Hold struct {
	Key   string
	Token string
	Mode  Mode
	Until time.Duration
}

// A Mode is how a key is held.
type Mode bool

// The modes.
const (
	Read  Mode = false
	Write Mode = true
)

func (m Mode) String() string {
	if m == Write {
		return "writes"
	}
	return "reads"
}

// An End is when a key ends that does not end with the last of its holds. All keys of a sound world do.
type End struct {
	Key   string
	Until time.Duration
}

// A Waiter is one that stands in lines, at the same place in all of them.
type Waiter struct {
	ID    string
	Place time.Duration // a place is a moment
	Lines []string      // the keys in whose lines it stands
	Dead  bool          // it has not asked for too long
}

// GuardLife is for how long a guard stands.
const GuardLife = 300 * time.Second

// A Guard says in the line of a key of an owner: nothing below this number.
type Guard struct {
	Key    string
	Owner  string
	Number int64
	Until  time.Duration // a whole number of seconds
}

// A Number is the greatest fencing number that was given for a key.
type Number struct {
	Key  string
	Last int64
}

// An Intent is that of a writer that waits.
type Intent struct {
	Key   string
	Token string
	Until time.Duration
}

// A Wish is what one wants that stands in line, or may.
type Wish struct {
	ID     string // of the waiter
	Token  string
	Writes []string
	Reads  []string
	TTL    time.Duration
	Fenced bool
}

// Obtain is the request of a waiter that stands at a place, or at none.
func (w Wish) Obtain(at proto.Place) *proto.Obtain {
	return &proto.Obtain{
		Set: Set(w.Writes, w.Reads, w.Fenced), Value: &w.Token, TTL: w.TTL,
		Waiter: &proto.Waiter{ID: w.ID, Place: at, Channel: w.channel()},
	}
}

// channel is where the waiter listens, and nobody else.
func (w Wish) channel() string { return "to " + w.ID }

// PlaceAt is how a request says that its waiter stands at a place.
func PlaceAt(place time.Duration) proto.Place { return proto.PlaceOf((begin + place).Microseconds()) }

// NumberAt is how a request says a number.
func NumberAt(n int64) int64 { return beginMicros + n }

// Set is a set of keys, as a request has it.
func Set(writes, reads []string, fenced bool) proto.Set {
	s := proto.Set{Keys: slices.Concat(writes, reads), Writes: len(writes)}
	s.Lines = besideAll("line", s.Keys)
	if fenced {
		s.Fences = besideAll("fence", s.Keys)
	}
	return s
}

// Intents are the names of the intents of some keys, as a request has them.
func Intents(keys ...string) []string { return besideAll("intent", keys) }

func besideAll(purpose string, keys []string) []string {
	names := make([]string, len(keys))
	for i, key := range keys {
		names[i] = slot.Beside(purpose, key)
	}
	return names
}

// Rank makes ranks of the places of all waiters: 1 µs is the first of them. Most models know no more of places.
func (w *World) Rank() {
	var places []time.Duration
	for _, its := range w.Waiters {
		places = append(places, its.Place)
	}
	slices.Sort(places)
	places = slices.Compact(places)
	for i := range w.Waiters {
		its := &w.Waiters[i]
		its.Place = time.Duration(1+slices.Index(places, its.Place)) * time.Microsecond
	}
}

// settle brings worlds that differ in nothing that matters into one form: what has ended is left out, and lists are in order.
func (w *World) settle() {
	runs := func(until time.Duration) bool { return until > w.Now }
	w.Holds = inOrder(w.Holds, func(h Hold) (string, bool) { return h.Key + "|" + h.Token, runs(h.Until) })
	w.Ends = inOrder(w.Ends, func(e End) (string, bool) { return e.Key, runs(e.Until) && e.Until != w.lastHold(e.Key) })
	w.Guards = inOrder(w.Guards, func(g Guard) (string, bool) { return g.Key + "|" + g.Owner, runs(g.Until) })
	w.Numbers = inOrder(w.Numbers, func(n Number) (string, bool) { return n.Key, true })
	w.Intents = inOrder(w.Intents, func(i Intent) (string, bool) { return i.Key, runs(i.Until) })
	w.Waiters = inOrder(w.Waiters, func(its Waiter) (string, bool) { return its.ID, len(its.Lines) > 0 })
	for i, its := range w.Waiters {
		w.Waiters[i].Lines = slices.Sorted(slices.Values(its.Lines))
	}
}

// inOrder returns what stays of a list, by its name; nil if nothing does.
func inOrder[E any](all []E, name func(e E) (name string, stays bool)) (kept []E) {
	for _, e := range all {
		if _, stays := name(e); stays {
			kept = append(kept, e)
		}
	}
	slices.SortStableFunc(kept, func(x, y E) int {
		one, _ := name(x)
		other, _ := name(y)
		return cmp.Compare(one, other)
	})
	return kept
}

// lastHold is when the last hold of a key ends; -1 if nobody holds it.
func (w *World) lastHold(key string) time.Duration {
	last := time.Duration(-1)
	for _, h := range w.Holds {
		if h.Key == key {
			last = max(last, h.Until)
		}
	}
	return last
}

// String says it in words, a line for each thing.
func (w World) String() string {
	lines := []string{fmt.Sprintf("it is %v", w.Now)}
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, h := range w.Holds {
		say("%q %v %s until %v", h.Token, h.Mode, h.Key, h.Until)
	}
	for _, e := range w.Ends {
		say("%s ends at %v, not with the last who holds it", e.Key, e.Until)
	}
	for _, its := range w.Waiters {
		is := "alive"
		if its.Dead {
			is = "dead"
		}
		say("%q stands at %v in the lines of %s, and is %s", its.ID, its.Place, strings.Join(its.Lines, ", "), is)
	}
	for _, g := range w.Guards {
		say("in the line of %s a guard says: nothing of %q below %d until %v", g.Key, g.Owner, g.Number, g.Until)
	}
	for _, n := range w.Numbers {
		say("the last number of %s is %d", n.Key, n.Last)
	}
	for _, i := range w.Intents {
		say("%q intends to write %s until %v", i.Token, i.Key, i.Until)
	}
	return strings.Join(lines, "\n")
}
