package fencing

import (
	"container/list"
	"context"
	"fmt"
	"sync"
)

// defaultLimit is for names of usual length about 16 MB.
const defaultLimit = 1 << 16

// A Guard is the gate of a service that is itself the resource. It remembers the greatest number
// seen for each resource, and refuses smaller ones. It forgets them when the process ends. If the
// data of a service outlives the process, keep the numbers with the data, and after a restart give
// each number to [Guard.Admit] before the service serves.
//
// The zero value is ready to use. A Guard is safe for concurrent use and must not be copied after
// its first use.
type Guard struct {
	// Limit is how many resources are remembered by name. Beyond it, the Guard forgets the name of
	// the resource that was not seen for the longest time, but never its number: a resource that is
	// not known by name must come with at least the greatest number that was forgotten. So no stale
	// write is ever admitted for want of memory. But a holder that is not stale can be refused, if
	// Limit other resources were written since it obtained its lock. It must then obtain the lock
	// again. Choose a Limit above the number of resources that are written during the longest hold.
	// Resources that are just being written do not count. Do not change Limit after the first use.
	// Default: 65 536.
	Limit int

	mu    sync.Mutex
	known map[string]*memory // under mu
	idle  list.List          // under mu; the known ones without users, the one seen last at the front
	floor int64              // under mu; the greatest number that was forgotten
}

// A memory has all that a Guard knows of one resource.
type memory struct {
	resource string
	newest   int64         // under the Guard's mu
	users    int           // under the Guard's mu; the calls of Do that wait or write
	gate     chan struct{} // has one place, taken by the Do that writes; under the Guard's mu, nil without users
	place    *list.Element // under the Guard's mu; in idle, nil with users
}

// Admit remembers the number and returns nil, or refuses it with [ErrStale] or [ErrInvalidNumber].
// It does not wait. A newer holder can overtake whatever the caller does after Admit, so a write
// belongs into [Guard.Do]. Use Admit to tell the Guard of a number that it should have seen.
func (g *Guard) Admit(resource string, number int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	m, err := g.admitLocked(resource, number)
	if err != nil {
		return err
	}
	g.settleLocked(m)
	return nil
}

// Do runs write while no other write of this resource runs, unless the number is stale by then, and
// returns what write returns. Do waits for its turn until ctx ends; then it returns the cause of ctx.
// Writes run in the order of their numbers: while one runs a greater number waits, and once a greater
// number has come, no smaller number begins. A number counts as seen from the moment it comes,
// whatever becomes of its write.
//
// The errors of the Guard are [ErrStale], [ErrInvalidNumber] and the cause of ctx; with these, write
// was not called. A Do for the same resource inside write waits for itself.
func (g *Guard) Do(ctx context.Context, resource string, number int64, write func() error) error {
	m, err := g.enter(resource, number)
	if err != nil {
		return err
	}
	defer g.leave(m)
	select {
	case m.gate <- struct{}{}:
		defer func() { <-m.gate }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return fmt.Errorf("fencing: wait for %q: %w", resource, context.Cause(ctx))
	}
	if err := g.recheck(m, number); err != nil {
		return err
	}
	return write()
}

// enter admits a number and makes its caller a user.
func (g *Guard) enter(resource string, number int64) (*memory, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m, err := g.admitLocked(resource, number)
	if err != nil {
		return nil, err
	}
	if m.place != nil {
		g.idle.Remove(m.place)
		m.place = nil
	}
	if m.gate == nil {
		m.gate = make(chan struct{}, 1)
	}
	m.users++
	return m, nil
}

// recheck refuses a number that has become stale while it waited.
func (g *Guard) recheck(m *memory, number int64) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if number < m.newest {
		return &StaleError{Resource: m.resource, Number: number, Newest: m.newest}
	}
	return nil
}

// leave ends what enter began.
func (g *Guard) leave(m *memory) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m.users--; m.users == 0 {
		m.gate = nil
		g.settleLocked(m)
	}
}

// admitLocked compares and remembers. A resource that is refused leaves nothing behind.
func (g *Guard) admitLocked(resource string, number int64) (*memory, error) {
	if err := check(number); err != nil {
		return nil, err
	}
	m, newest := g.known[resource], g.floor
	if m != nil {
		newest = m.newest
	}
	if number < newest {
		return nil, &StaleError{Resource: resource, Number: number, Newest: newest}
	}
	if m == nil {
		m = &memory{resource: resource}
		if g.known == nil {
			g.known = make(map[string]*memory)
		}
		g.known[resource] = m
	}
	m.newest = number
	return m, nil
}

// settleLocked marks a resource as the one seen last, and forgets others if they are too many.
func (g *Guard) settleLocked(m *memory) {
	switch {
	case m.users > 0:
	case m.place == nil:
		m.place = g.idle.PushFront(m)
	default:
		g.idle.MoveToFront(m.place)
	}
	limit := g.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	for g.idle.Len() > limit {
		oldest := g.idle.Remove(g.idle.Back()).(*memory)
		delete(g.known, oldest.resource)
		g.floor = max(g.floor, oldest.newest)
	}
}
