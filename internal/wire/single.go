package wire

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A single is a call that is a command by itself. It is not the call itself, because the call may be used again, and
// hooks of the Redis client see the command and may keep it.
type single struct {
	redis.Cmd
	call  *Call
	alike []*Call // not sent, because a refusal of the call is theirs, too
	try   tryContext
	self  [1]command       // of a batch that is this one
	room  [fewOperands]any // for the arguments of its first try
}

// fewOperands is how many arguments a command has room for without an allocation: those of most sets of one key.
const fewOperands = 8

func newSingle(c *Call) *single { return &single{call: c, try: tryContext{Context: c.Context}} }

// NoRetry keeps go-redis from sending the command again. go-redis asks for it from v9.19.0 on, which is why go.mod
// requires that version. An older one sends a release again by itself, and the second answer is that the lock is lost.
func (s *single) NoRetry() bool { return true }

func (s *single) script() *Script          { return s.call.Run.Script() }
func (s *single) context() context.Context { return s.call.Context }
func (s *single) calls() []*Call           { return append([]*Call{s.call}, s.alike...) }
func (s *single) cmd() *redis.Cmd          { return &s.Cmd }

func (s *single) prepare(sent clock.Moment, withSource bool) {
	c := s.call
	c.Sent = sent
	args := s.room[:0:fewOperands]
	if keys, operands := c.Run.Size(); withSource || 3+keys+operands > fewOperands {
		args = make([]any, 0, 3+keys+operands)
	}
	name, what := c.Run.Script().invocation(withSource)
	args = c.Run.Append(append(args, name, what))
	s.beginTry()
	s.Cmd = *redis.NewCmd(c.Context, args...)
	s.SetFirstKeyPos(3)
	for _, c := range s.alike {
		c.Sent = sent
	}
}

func (s *single) answered() {
	s.endTry()
	s.call.Reply, s.call.Err = s.Val(), s.Err()
	if len(s.alike) > 0 {
		s.answerAlike()
	}
	s.call = nil
}

// What follows is how a try waits for a connection, and stops waiting.

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
		if c.byCaller {
			c.Began = c.Sent
			c.limit.set(&s.try, nil, c.Sent.Mono+overdue)
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
	}
}

// A timeout ends the wait of a caller, or the try of a caller that does the sending itself, if it is not cleared in
// time. A call keeps it when it is used again, and its timer is not stopped in between, but finds out when it fires
// that there is nothing to do. To set and stop a timer for each call wakes other threads, and costs more than all else
// that this package does for the call.
type timeout struct {
	mu    sync.Mutex
	timer *time.Timer
	fires time.Duration // when the timer fires, as a Moment.Mono; 0: it does not run
	until time.Duration // when the time is over; 0: it is cleared, or is over
	over  bool
	try   *tryContext // that ends then
	call  *Call       // whose caller is to look then
}

// clear has nothing happen any more.
func (t *timeout) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until, t.over, t.try, t.call = 0, false, nil, nil
}

// set has a try ended when the time is over, or the caller of a call look: one of them is nil.
func (t *timeout) set(try *tryContext, c *Call, until time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until, t.over, t.try, t.call = until, false, try, c
	if t.fires == 0 || until < t.fires { // else it looks then
		t.startLocked()
	}
}

// longestTimer is how long a timer runs at most. One that is of no use any more keeps the timeout in memory until it fires.
const longestTimer = 5 * time.Second

func (t *timeout) startLocked() {
	at := clock.Now().Mono
	t.fires = min(t.until, at+longestTimer)
	after := max(t.fires-at, 0)
	if t.timer == nil {
		t.timer = time.AfterFunc(after, t.fire)
	} else {
		t.timer.Reset(after)
	}
}

// fire ends the time, or waits on for one that was set later.
func (t *timeout) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fires = 0
	switch {
	case t.until == 0:
		return
	case clock.Now().Mono < t.until:
		t.startLocked()
		return
	}
	t.until, t.over = 0, true
	if t.try != nil {
		t.try.end(errNoConnection)
	} else {
		look(t.call.done)
	}
}

// isOver reports whether the time is over.
func (t *timeout) isOver() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}
