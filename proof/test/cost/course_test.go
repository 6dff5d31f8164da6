package cost_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock/internal/world"
)

var namings atomic.Int64

// newKeys names n keys that nobody has used: what has waited for others may still be clearing up.
func newKeys(name string, n int) []string {
	return world.Numbered(fmt.Sprintf("%s %d", name, namings.Add(1)), n)
}

// A wish is the set that one caller wants.
type wish struct{ write, read []string }

func (w wish) size() int { return len(w.write) + len(w.read) }

// A course says who comes, one after the other.
type course struct {
	name      string
	set       func(k int) func(i int) wish // what the i'th caller wants; k: how many keys the sets have
	ttl       time.Duration                // zero: a long one
	same      bool                         // all want the same
	alsoAlone bool                         // it can be had with one key
	vain      bool                         // in each turn somebody is told to ask, and refused
	extra     limit                        // what a turn may cost in addition
}

func courses() []course {
	return []course{
		{name: "the same set", same: true, alsoAlone: true, set: sameSet},
		{name: "the same set, short ttl", ttl: 4900 * time.Millisecond, alsoAlone: true, set: sameSet},
		{name: "half of it read", set: func(k int) func(int) wish {
			keys := newKeys("mixed", k)
			return func(int) wish { return wish{keys[:k/2], keys[k/2:]} }
		}},
		{name: "readers and writers by turns", alsoAlone: true, extra: shared, set: func(k int) func(int) wish {
			keys := newKeys("by turns", k)
			return func(i int) wish {
				if i%2 > 0 {
					return wish{read: keys}
				}
				return wish{write: keys}
			}
		}},
		{name: "half of it is the holder's, half is free", extra: asked, set: func(k int) func(int) wish { return chain(k, 2*(depth+1)) }},
		{name: "each shares a half with each", vain: true, extra: asked, set: func(k int) func(int) wish { return chain(k, 3) }},
		{name: "a part and the whole by turns", set: func(k int) func(int) wish {
			keys := newKeys("part", k)
			return func(i int) wish { return wish{write: keys[:k-i%2*k/2]} }
		}},
		{name: "one key and the whole by turns", set: func(k int) func(int) wish {
			keys := newKeys("one", k)
			return func(i int) wish { return wish{write: keys[:max(1, (1-i%2)*k)]} }
		}},
		{name: "the same keys in another order", set: func(k int) func(int) wish {
			keys := newKeys("order", k)
			back := slices.Clone(keys)
			slices.Reverse(back)
			return func(i int) wish { return wish{write: [][]string{keys, back}[i%2]} }
		}},
	}
}

func sameSet(k int) func(int) wish {
	keys := newKeys("same", k)
	return func(int) wish { return wish{write: keys} }
}

// chain has each want half of what the one before wants, and half of what the one behind wants.
func chain(k, halves int) func(int) wish {
	keys := newKeys("chain", halves*k/2)
	return func(i int) wish {
		from, to := i%halves, (i+1)%halves
		return wish{write: slices.Concat(keys[from*k/2:(from+1)*k/2], keys[to*k/2:(to+1)*k/2])}
	}
}

// sizes are how many keys the sets have.
func (c course) sizes() []int {
	if c.alsoAlone {
		return []int{1, 4, 16, 64, 256}
	}
	return []int{4, 16, 64, 256}
}

// asks reports whether somebody is told to ask in each turn.
func (c course) asks() bool { return c.extra == asked }

// limit is what a turn of the course may cost.
func (c course) limit(k int, fenced bool) limit {
	switch {
	case c.same && k == 1 && fenced:
		return oneKeyFenced
	case c.same && k == 1:
		return oneKey
	case c.same && fenced:
		return turnOfTheSameFenced
	case c.same:
		return turnOfTheSame
	case fenced && c.asks():
		return turnOfOthersFenced.and(c.extra).and(forgotten)
	case fenced:
		return turnOfOthersFenced.and(c.extra)
	}
	return turnOfOthers.and(c.extra)
}
