package survey

import (
	"context"
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

// A pace keeps a survey from being in the way of others. Rounds with about as many commands are about as much work, so
// one that takes longer than the quickest of these has waited for somebody.
type pace struct {
	quickest [bits.UintSize]time.Duration // by the length of the number of commands
	late     time.Duration                // the latest one, by how much
}

// took is told how long a round has taken.
func (p *pace) took(d time.Duration, commands int) {
	quickest := &p.quickest[bits.Len(uint(commands))]
	if *quickest == 0 || d < *quickest {
		*quickest = d
	}
	p.late = d - *quickest
}

// next returns how long to wait before the next round: a few times of what the server was late.
func (p *pace) next() time.Duration {
	if p.late < leastLate {
		return 0
	}
	return min(3*p.late, mostPause)
}

func (p *pace) pause(ctx context.Context) error {
	if p.next() > 0 {
		select {
		case <-time.After(p.next()):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}
