package measure

import (
	"math/rand/v2"
	"slices"
	"time"
)

// A Load is what a program does with its locks.
type Load struct {
	Names   []string        // of the keys that there are
	Keys    int             // of each lock, taken from these at random
	Holds   []time.Duration // how long a lock is held: one of these, at random
	TTL     time.Duration   // of every lock
	Workers int             // who want locks at the same time
	First   int             // the number of the first of them: others may play the same load
	Readers float64         // the share of locks that only read
	Think   time.Duration   // between two locks of a worker
}

// Mean is the mean hold time.
func (l *Load) Mean() time.Duration {
	var sum float64
	for _, d := range l.Holds {
		sum += float64(d) / float64(len(l.Holds))
	}
	return time.Duration(sum)
}

// newDraw makes the choices of one worker in one slice. They are the same for every policy.
func newDraw(round, worker int) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(round), uint64(worker)))
}

// drawKeys draws so many different ones of all names.
func drawKeys(d *rand.Rand, names []string, n int) []string {
	chosen := make([]string, 0, n)
	if n > len(names)/2 {
		for _, i := range d.Perm(len(names))[:n] {
			chosen = append(chosen, names[i])
		}
		return chosen
	}
	for len(chosen) < n {
		if name := names[d.IntN(len(names))]; !slices.Contains(chosen, name) {
			chosen = append(chosen, name)
		}
	}
	return chosen
}
