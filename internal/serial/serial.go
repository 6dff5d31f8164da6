// Package serial numbers events in this process, in whichever package they happen. It also puts actions that must not
// happen together one after the other.
package serial

import (
	"context"
	"sync"
	"sync/atomic"
)

var last atomic.Uint64

// Next returns a number that it has not returned before, and never 0.
func Next() uint64 { return last.Add(1) }

// Turns let callers do something one after the other. The zero value is ready for use.
type Turns struct {
	mu    sync.Mutex
	taken int           // how many turns are under way
	over  chan struct{} // closed when no turn is; nil if nobody waits for that
}

// Take waits until no turn is under way, or ctx has ended: then the turn runs beside others. [Turns.End] ends it.
func (t *Turns) Take(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.taken > 0 && ctx.Err() == nil {
		if t.over == nil {
			t.over = make(chan struct{})
		}
		over := t.over
		t.mu.Unlock()
		select {
		case <-over:
		case <-ctx.Done():
		}
		t.mu.Lock()
	}
	t.taken++
}

// End ends a turn that was taken.
func (t *Turns) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken--; t.taken == 0 && t.over != nil {
		close(t.over)
		t.over = nil
	}
}
