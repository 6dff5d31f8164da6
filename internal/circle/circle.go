// Package circle ends contexts together: those of everybody who works under one lock.
package circle

import (
	"context"
	"sync"
)

// A Circle is contexts that end together. The zero value is one of none. It is safe for concurrent
// use.
type Circle struct {
	mu      sync.Mutex
	members map[*context.CancelCauseFunc]struct{}
	over    error // the cause with which they have ended
}

// Join returns a context derived from ctx that ends with the circle, or with ctx.
func (c *Circle) Join(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		cancel(c.over)
		return ctx
	}
	if c.members == nil {
		c.members = make(map[*context.CancelCauseFunc]struct{})
	}
	c.members[&cancel] = struct{}{}
	context.AfterFunc(ctx, func() { // a circle may outlive many of them
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.members, &cancel)
	})
	return ctx
}

// End ends every context of the circle, and those that join it from now on, with a cause. Only the
// first End counts. It is not to be called with anything locked that a context might need to end.
func (c *Circle) End(cause error) {
	c.mu.Lock()
	members := c.members
	c.members = nil
	if c.over == nil {
		c.over = cause
	}
	c.mu.Unlock()
	for cancel := range members {
		(*cancel)(cause)
	}
}
