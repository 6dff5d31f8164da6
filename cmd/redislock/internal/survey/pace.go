package survey

import (
	"context"
	"time"
)

// mostPause is how long a survey waits between two rounds at most.
const mostPause = 200 * time.Millisecond

// A pace keeps a survey from being in the way of others. Each SCAN is as much work as any other, so one that takes longer
// than the quickest one has waited for somebody.
type pace struct {
	quickest time.Duration
	late     time.Duration // the latest one, by how much
}

// took is told how long a SCAN has taken.
func (p *pace) took(d time.Duration) {
	if p.quickest == 0 || d < p.quickest {
		p.quickest = d
	}
	p.late = d - p.quickest
}

// next returns how long to wait before the next round: a few times of what the server was late.
func (p *pace) next() time.Duration { return min(3*p.late, mostPause) }

// pause waits.
func (p *pace) pause(ctx context.Context) error {
	if p.next() > 0 {
		select {
		case <-time.After(p.next()):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}
