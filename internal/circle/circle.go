// Package circle ends contexts together: the contexts of everybody who works under one lock.
package circle

import (
	"context"
	"sync"
)

// A Circle is contexts that end together. The zero value has none. It is safe for concurrent use.
type Circle struct {
	mu      sync.Mutex
	members map[*context.CancelCauseFunc]struct{}
	over    error // the cause with which they ended
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

// End ends every context of the circle, and each that joins it from now on, with a cause. Only the first End counts. It
// must not be called while anything is locked that a context might need to end.
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
