package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// This file is how a try waits for a connection, and stops waiting.

// A tryContext is the context of one try of a bounded call. It knows what the context of the caller knows, but does not
// end with it. So the end of a wait never makes an outcome unknown that would have been known in a moment. It ends if
// the try must not wait any longer for a connection. go-redis asks for that while it waits for a connection of its
// pool, or dials, and no longer once the request may have been sent. So if the outcome of a try is the error of the
// ended context, the request was not sent. This does not allow for a hook of the Redis client that returns before its
// command has ended.
type tryContext struct {
	context.Context // of the caller

	mu   sync.Mutex
	done chan struct{} // nil before somebody asks
	over error         // with which the context has ended
}

var (
	// errNoConnection is the outcome of a try that has ended before it had a connection.
	errNoConnection = errors.New("redislock: no connection yet")
	// errGone is the same if the caller goes then.
	errGone = fmt.Errorf("%w: no connection yet", ErrNotSent)
)

// Deadline says that there is no deadline.
func (*tryContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done returns a channel that is closed when the try must not wait any longer.
func (t *tryContext) Done() <-chan struct{} {
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

// beginTry gives the try a context of its own, if its caller must not wait for it beyond some time.
func (s *single) beginTry() {
	c := s.call
	if !c.Bounded || c.Context == context.Context(&s.try) {
		return // or it is the same try, with the source of the script
	}
	c.Context = &s.try
	c.connecting.Store(&s.try)
	if c.dialTimer != nil {
		c.dialTimer.begin(&s.try, c.Sent)
	}
	if c.IsAbandoned() {
		s.try.end(errNoConnection)
	}
}

// endTry gives the call its own context back.
func (s *single) endTry() {
	c := s.call
	if c.Context == context.Context(&s.try) {
		c.Context = s.try.Context
	}
	c.connecting.Store(nil)
	c.dialTimer = nil
}

// A dialTimer ends a try that takes too long to get a connection, if its caller does the sending itself. Such a caller
// cannot go before the time-outs of the Redis client let it. The call then goes on without its caller.
//
// The timer is not stopped when the try is over, but finds that out when it fires. To set and stop a timer for each
// call wakes other threads, and costs more than all else that this package does for the call.
type dialTimer struct {
	mu    sync.Mutex
	timer *time.Timer
	runs  bool          // the timer runs
	try   *tryContext   // nil: there is none
	until time.Duration // when the try has to end, as a Moment.Mono
}

// newDialTimer takes a timer that was used before, if there is one.
func (l *lane) newDialTimer() *dialTimer {
	if d, ok := l.dialTimers.Get().(*dialTimer); ok {
		return d
	}
	return new(dialTimer)
}

func (d *dialTimer) begin(t *tryContext, at clock.Moment) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.try, d.until = t, at.Mono+overdue
	switch {
	case d.runs:
		return
	case d.timer == nil:
		d.timer = time.AfterFunc(overdue, d.fire)
	default:
		d.timer.Reset(overdue)
	}
	d.runs = true
}

// fire ends the try, or waits on for a younger one.
func (d *dialTimer) fire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs = false
	if d.try == nil {
		return
	}
	if left := d.until - clock.Now().Mono; left > 0 {
		d.timer.Reset(left)
		d.runs = true
		return
	}
	d.try.end(errNoConnection)
}

// endDialTimer is to be called when the sending is over.
func (l *lane) endDialTimer(d *dialTimer) {
	d.mu.Lock()
	d.try = nil
	d.mu.Unlock()
	l.dialTimers.Put(d)
}
