package redislock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// A trip is the context of one try of a call. It knows what the context of the caller knows, but does
// not end with it, so that the end of a wait never makes an outcome unknown that would have been known
// in a moment. It ends if the try is not to wait any longer for a connection: go-redis asks for that
// while it waits for one of its pool, or dials, and not any more once the request may have been sent.
type trip struct {
	context.Context // of the caller

	mu   sync.Mutex
	done chan struct{} // nil before somebody asks
	over bool
}

// errNoConnection is the outcome of a try that has ended before it had a connection.
var errNoConnection = errors.New("redislock: no connection yet")

// Deadline says that there is none.
func (*trip) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done returns a channel that is closed with the end of the trip.
func (t *trip) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done == nil {
		t.done = make(chan struct{})
		if t.over {
			close(t.done)
		}
	}
	return t.done
}

// Err is errNoConnection when the trip has ended.
func (t *trip) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return errNoConnection
	}
	return nil
}

func (t *trip) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return
	}
	t.over = true
	if t.done != nil {
		close(t.done)
	}
}

// travel gives the try a context of its own, if its caller is not to wait for it beyond some time.
func (s *single) travel() {
	c := s.call
	if !c.bounded || c.ctx == context.Context(&s.trip) {
		return // or it is the same try, with the source of the script
	}
	c.ctx = &s.trip
	c.trip.Store(&s.trip)
	if c.rush != nil {
		c.rush.begin(&s.trip)
	}
	if c.fate.Load() == left {
		s.trip.end()
	}
}

// arrive ends that.
func (s *single) arrive() {
	c := s.call
	if c.ctx == context.Context(&s.trip) {
		c.ctx = s.trip.Context
	}
	c.trip.Store(nil)
	c.rush = nil
}

// A rush ends a trip that takes too long to begin: that of a call whose caller does the sending itself,
// and so can be gone no sooner than the time-outs of the Redis client let it. The call then goes on
// without its caller.
type rush struct {
	timer *time.Timer
	trip  atomic.Pointer[trip]
}

// newRush takes one that was used before, if there is one.
func (l *lane) newRush() *rush {
	if r, ok := l.rushes.Get().(*rush); ok {
		return r
	}
	return new(rush)
}

func (r *rush) begin(t *trip) {
	r.trip.Store(t)
	if r.timer != nil {
		r.timer.Reset(overdue)
		return
	}
	r.timer = time.AfterFunc(overdue, func() {
		if t := r.trip.Load(); t != nil {
			t.end()
		}
	})
}

// end is to be called when the sending is over.
func (l *lane) endRush(r *rush) {
	if r.timer == nil || r.timer.Stop() {
		r.trip.Store(nil)
		l.rushes.Put(r)
	}
}
