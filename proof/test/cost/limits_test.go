package cost_test

import (
	"fmt"
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A limit is how many commands the scripts of an operation may run: so many for each key of its set, and so many more.
type limit struct{ aKey, more int }

func (l limit) of(keys int) int { return l.aKey*keys + l.more }

// and is a limit with so much on top.
func (l limit) and(other limit) limit { return limit{l.aKey + other.aKey, l.more + other.more} }

// What a turn of a line may cost: one leaves, one is granted, one enters.
var (
	turnOfTheSame       = limit{4, 10} // all want the same set
	turnOfTheSameFenced = limit{6, 10}
	turnOfOthers        = limit{7, 12} // every other case
	turnOfOthersFenced  = limit{9, 14}
	// asked is what a turn costs in addition in which somebody is told to ask, and does so in a script of its own.
	asked = limit{0, 12}
	// lookedAt is what it costs in addition if the one who is told to ask finds the first half of its set free.
	lookedAt = limit{1, 0}
	// byItself is what it costs in addition if a waiter asks again by itself in it, as some do in every turn on a machine that is
	// slow: that one looks at its lines, and is written anew.
	byItself = limit{3, 12}
	// shared is what it costs in addition if the lock goes from writers to readers, or back.
	shared = limit{0, 6}
	// forgotten is what an asked turn of a fenced set costs in addition: keys go to nobody at first, so the numbers of
	// their holds are forgotten; and new hashes and lines are given a TTL.
	forgotten = limit{2, 0}
	// oneKey is what a turn of a single key may cost where all want the same. These are commands that need little time: one that
	// replies with an entry and its place takes as long as four others.
	oneKey       = limit{0, 12}
	oneKeyFenced = limit{0, 16}
	// onceASecond is what a turn adds in which a second begins: the lines live longer. Somebody may enter them, and another
	// one ask again.
	onceASecond = limit{2, 2}
	// published is what a turn costs in addition if the one who leaves and the one who is granted are of two Clients.
	published = limit{0, 2}
)

// What an attempt may cost that is refused.
var (
	refusedByWriter = limit{0, 3}
	refusedByReader = limit{0, 4} // of the first key; each key before it costs one more
	readRefused     = limit{0, 4}
	keptOutByIntent = limit{0, 6}
	// refusedTwice is for two attempts, of which the first sets an intent beside each key and the second takes it away.
	refusedTwice = limit{3, 9}
)

// What single steps of a line may cost where the sets are large: each of them holds up the server for everybody.
var (
	entering       = limit{2, 20}
	enteringFirst  = limit{3, 20} // the lines have to end
	askingAgain    = limit{4, 20}
	handingOver    = limit{3, 20}
	ofFencedGrants = limit{2, 0} // a grant of a fenced set, in addition
)

// forgetting is what three operations on a key may cost in addition while it has readers that have expired.
var forgetting = limit{0, 3}

// cycles are what is done with free keys, with what it may cost.
func cycles() []cycle {
	queue, fenced := redislock.Options{Queue: true}, redislock.Options{Fenced: true}
	return []cycle{
		{name: "a write lock", obtain: writes(redislock.Options{}), alone: true, lock: limit{0, 2}, release: limit{0, 3}, both: limit{0, 5}},
		{name: "a write lock, with Queue", obtain: writes(queue), alone: true, lock: limit{0, 2}, release: limit{0, 3}, both: limit{0, 5}},
		{name: "a write set", obtain: writes(redislock.Options{}), sets: true, lock: limit{1, 4}, release: limit{0, 3}, both: limit{1, 7}},
		{name: "a write set, with Queue", obtain: writes(queue), sets: true, lock: limit{1, 4}, release: limit{0, 3}, both: limit{1, 7}},
		{name: "a read set", obtain: reads(redislock.Options{}), lock: limit{3, 8}, release: limit{3, 8}, both: limit{3, 14}},
		{name: "a read set, with Queue", obtain: reads(queue), lock: limit{3, 8}, release: limit{3, 8}, both: limit{3, 14}},
		{name: "a mixed set", obtain: halfReads, sets: true, lock: limit{3, 8}, release: limit{3, 8}, both: limit{3, 14}},
		{name: "a fenced set", obtain: writes(fenced), known: true, lock: limit{4, 8}, release: limit{4, 8}, both: limit{4, 14}},
		{name: "a fenced set for the first time", obtain: writes(fenced), lock: limit{5, 8}, release: limit{5, 8}, both: limit{5, 14}},
		{name: "a fenced read set", obtain: reads(fenced), known: true, lock: limit{6, 8}, release: limit{3, 8}, both: limit{8, 14}},
	}
}

// A bill is what a measurement has found.
type bill struct {
	cheap, dear []string // what costs no more than it may, and what does
}

// within checks what something costs, and writes it into a bill.
func (l limit) within(b *bill, what string, keys int, commands world.Commands) bool {
	got, most := commands.Total(), l.of(keys)
	line := fmt.Sprintf("%s k=%d: %d commands, at most %d", what, keys, got, most)
	if got > most {
		b.dear = append(b.dear, line+": "+commands.String())
		return false
	}
	b.cheap = append(b.cheap, line)
	return true
}

// measurements are how many are made of what is too dear.
const measurements = 4

// cheap reports what is too dear each time that it is measured. When a second begins, or an hour, or when the machine stands
// still so that somebody asks again meanwhile, a measurement costs more; it never costs less.
func cheap(t *testing.T, measure func(b *bill)) {
	t.Helper()
	var b bill
	for range measurements {
		b = bill{}
		measure(&b)
		if len(b.dear) == 0 {
			break
		}
		t.Log("too dear once:", b.dear)
	}
	for _, line := range b.cheap {
		t.Log(line)
	}
	for _, line := range b.dear {
		t.Error(line)
	}
}
