package survey

import (
	"math/bits"
	"time"
)

const (
	// mostPause is how long a survey waits between two rounds at most.
	mostPause = 200 * time.Millisecond
	// leastLate is less than what matters to others. A pause costs the server more than it spares: a server that is busy does
	// not go to sleep between two commands, and most of what a round takes is that it is woken.
	leastLate = 500 * time.Microsecond
)

// A lag is how late a server answers. It keeps a survey from being in the way of others. Rounds with about as many commands are
// about as much work, so one that takes longer than the quickest of these has waited for somebody.
type lag struct {
	quickest [bits.UintSize]time.Duration // by the length of the number of commands
	late     time.Duration                // the latest one, by how much
}

// took is told how long a round has taken.
func (l *lag) took(d time.Duration, commands int) {
	quickest := &l.quickest[bits.Len(uint(commands))]
	if *quickest == 0 || d < *quickest {
		*quickest = d
	}
	l.late = d - *quickest
}

// next returns how long to wait before the next round: a few times of what the server was late.
func (l *lag) next() time.Duration {
	if l.late < leastLate {
		return 0
	}
	return min(3*l.late, mostPause)
}
