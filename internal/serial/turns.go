package serial

import (
	"context"
	"sync"
)

// Turns let callers do something one after the other. The zero value is ready for use.
type Turns struct {
	mu   sync.Mutex
	last chan struct{} // is closed when the turn that was taken last is over; nil: there was none
}

// Take waits until all turns before it are over, or ctx has ended: then it is a turn beside them. It returns what ends the turn.
func (t *Turns) Take(ctx context.Context) (end func()) {
	mine := make(chan struct{})
	t.mu.Lock()
	before := t.last
	t.last = mine
	t.mu.Unlock()
	if before != nil {
		select {
		case <-before:
		case <-ctx.Done():
		}
	}
	return func() { close(mine) }
}
