package campaign

import (
	"fmt"
	"time"
)

// A Shrunk is how many of the faults of a round are enough for it to fail.
type Shrunk struct {
	Faults  int  // the first so many
	Of      int  // that the round has
	Proven  bool // reruns with so many have failed often enough; otherwise there was too little time, or it failed too seldom
	Minimal bool // and with one less not
	Fails   int  // reruns with so many that have failed
	Reruns  int  // with so many
	All     int  // reruns in all
}

// A prefix of the faults counts as enough if so many of so many reruns fail.
const (
	enoughFails = 3
	manyReruns  = 10
)

// Shrink looks for the least number of faults with which a round still fails: it halves. A number is decided as soon as its
// reruns cannot change it any more. rerun does the round with its first faults, and reports whether it fails. After the limit
// no rerun begins.
func Shrink(faults int, limit time.Duration, rerun func(faults int) bool) Shrunk {
	var (
		over  = time.Now().Add(limit)
		s     = Shrunk{Faults: faults, Of: faults}
		below = -1 // the greatest number that was not enough
	)
	for n := 0; below+1 < s.Faults || !s.Proven; n = (below + 1 + s.Faults) / 2 {
		if below+1 >= s.Faults {
			n = s.Faults // all of them, which nobody has tried again
		}
		fails, reruns := 0, 0
		for fails < enoughFails && reruns-fails <= manyReruns-enoughFails {
			if time.Now().After(over) {
				return s
			}
			reruns++
			s.All++
			if rerun(n) {
				fails++
			}
		}
		switch {
		case fails >= enoughFails:
			s.Faults, s.Proven, s.Fails, s.Reruns = n, true, fails, reruns
		case n == faults:
			s.Fails, s.Reruns = fails, reruns
			return s
		default:
			below = n
		}
	}
	s.Minimal = true
	return s
}

func (s Shrunk) String() string {
	switch {
	case s.Proven && s.Minimal:
		return fmt.Sprintf("the first %d of %d faults are enough, and no fewer: %d of %d reruns failed",
			s.Faults, s.Of, s.Fails, s.Reruns)
	case s.Proven:
		return fmt.Sprintf("the first %d of %d faults are enough: %d of %d reruns failed; there was no time to try all that are fewer",
			s.Faults, s.Of, s.Fails, s.Reruns)
	case s.Reruns > 0:
		return fmt.Sprintf("it fails too seldom to be shrunk: with all %d faults %d of %d reruns failed", s.Of, s.Fails, s.Reruns)
	default:
		return fmt.Sprintf("not shrunk: the time was over after %d reruns", s.All)
	}
}
