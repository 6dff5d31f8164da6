// Package circle ends contexts together: the contexts of everybody who works under one lock.
package circle

import (
	"context"
	"slices"
	"sync"
)

// A Circle is contexts that end together. The zero value has none. It is safe for concurrent use.
type Circle struct {
	mu      sync.Mutex
	members []member
	few     [1]member // room for the first
	most    int       // when there are so many, those that have ended are looked for
	over    error     // the cause with which they ended
}

// A member is one context, and how it is ended.
type member struct {
	ctx context.Context
	end context.CancelCauseFunc
}

// fewest is how many members there are at least before any is looked for.
const fewest = 16

// Join returns a context derived from ctx that ends with the circle, or with ctx. A circle may outlive many of its
// members. To have each of them say when it ends would cost more than all else: so when the number of members has
// doubled, those are dropped that have ended.
func (c *Circle) Join(ctx context.Context) context.Context {
	ctx, end := context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		end(c.over)
		return ctx
	}
	if len(c.members) >= max(c.most, fewest) {
		c.members = slices.DeleteFunc(c.members, func(m member) bool { return m.ctx.Err() != nil })
		c.most = 2 * len(c.members)
	}
	if c.members == nil {
		c.members = c.few[:0]
	}
	c.members = append(c.members, member{ctx, end})
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
	for _, m := range members {
		m.end(cause)
	}
	clear(members)
}
