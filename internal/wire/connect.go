package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// This file is how a try waits for a connection, and stops waiting.

// A tryContext is the context of one try of a call. It knows what the context of the caller knows, but does not end
// with it. So the end of a wait never makes an outcome unknown that would have been known in a moment.
//
// The context of a bounded call ends if the try must not wait any longer for a connection. go-redis asks for that while
// it waits for a connection of its pool, or dials, and no longer once the request may have been sent. So if the outcome
// of a try is the error of the ended context, the request was not sent. This does not allow for a hook of the Redis
// client that returns before its command has ended.
type tryContext struct {
	context.Context // of the caller

	bounded bool
	mu      sync.Mutex
	done    chan struct{} // nil before somebody asks
	over    error         // with which the context has ended
}

var (
	// errNoConnection is the outcome of a try that has ended before it had a connection.
	errNoConnection = errors.New("redislock: no connection yet")
	// errGone is the same if the caller goes then.
	errGone = fmt.Errorf("%w: no connection yet", ErrNotSent)
	// errTryOver is what the context of a try says when the try has come to its end. Its channel may then be that of
	// another try.
	errTryOver = errors.New("redislock: the try is over")
)

// Deadline says that there is no deadline.
func (*tryContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done returns a channel that is closed when the try must not wait any longer; nil if it may wait for ever.
func (t *tryContext) Done() <-chan struct{} {
	if !t.bounded {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		if t.over != nil {
			close(t.done)
		}
	}
	return t.done
}

// Err says why, once the channel is closed.
func (t *tryContext) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

func (t *tryContext) end(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over != nil {
		return
	}
	t.over = why
	if t.done != nil {
		close(t.done)
	}
}

// leave takes the channel of a try that is over, for the next one; nil if the channel is closed.
func (t *tryContext) leave() (unused chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over != nil {
		return nil
	}
	t.over = errTryOver
	return t.done
}

// beginTry gives the try a context of its own, unless that of its caller never ends and may.
func (s *single) beginTry() {
	c := s.call
	switch {
	case c.Context == context.Context(&s.try): // the same try, with the source of the script
	case c.Bounded:
		s.try.bounded, s.try.done = true, c.unused
		c.Context = &s.try
		c.connecting.Store(&s.try)
		if c.dials != nil {
			c.began = c.Sent.Mono
			c.dials.end(&s.try, c.Sent.Mono+overdue)
		}
		if c.IsAbandoned() {
			s.try.end(errNoConnection)
		}
	case c.Context.Done() != nil:
		c.Context = &s.try
	}
}

// endTry gives the call its own context back.
func (s *single) endTry() {
	c := s.call
	if c.Context == context.Context(&s.try) {
		c.Context = s.try.Context
	}
	if c.Bounded {
		c.unused = s.try.leave()
		c.connecting.Store(nil)
		c.dials = nil
	}
}
