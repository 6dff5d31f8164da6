package wire

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A Request is what a caller asks for. It does not change while its call is under way.
type Request struct {
	Script  *Script
	Context context.Context // of the caller; the call outlives its end

	Keys []string // of KEYS those by which it finds its server: the lock keys
	Run  Run

	Plain    bool // the bundle script may try to do it, together with others
	Alike    bool // if it is refused, so is every other such call whose Run is like it
	Repeats  bool // its caller was refused before, and asks again: calls of others do not wait behind it
	Bounded  bool // its caller goes at some time also if there is no answer
	Replicas Replicas

	WaitForSlot time.Duration        // for so long a slot that moves is waited for, which is no try; 0: as usual
	Remaining   func() time.Duration // for how long another try makes sense; nil: for ever
	Heard       func(message string) // takes the messages at the end of a reply; nil: there are none
	Tracker     Tracker              // may be nil
}

// A Run is what a script is called with: its KEYS and its ARGV, of which only the owner of the script knows what they mean.
type Run interface {
	// Size returns how many keys the next try has, and how many arguments at most.
	Size() (keys, args int)
	// Append appends the number of keys, the keys and the arguments of the next try.
	Append(to []any) []any
	// IsLike reports whether another run of the same script asks for the same, for somebody else.
	IsLike(another Run) bool
	// IsRefusal reports whether a reply says that nothing was done, and why.
	IsRefusal(reply any) bool
	// Takes reports whether it writes what was not there before, and so may be refused for want of memory.
	Takes() bool
	// Resent is called before the call is sent again if an earlier try may have been executed.
	Resent()
}

// A Tracker is told of each try of a call, by one goroutine at a time.
type Tracker interface {
	// Before is called right before a try is sent. It may set the Try. If it returns false the call is
	// not sent, and its Result is what the tracker has made it: it has to be so if the call was left.
	Before() bool
	// After is called when the outcome of a try is there. mayCome says that the try may be executed yet,
	// as far as the error and the Redis client say.
	After(mayCome bool)
	// Left is called when the caller has gone.
	Abandoned()
}

// A Try is how a call is sent the next time.
type Try struct {
	Alone bool // it cannot be a part of a bundle
	twice bool // whatever has come of it, it may have been sent before that
}

// A Result is the outcome of a call. It is written by the lane, and read when the call is over.
type Result struct {
	Reply any
	Err   error
	Sent  clock.Moment // before the latest try was sent
	// Unanswered is when the first try was sent that was not answered, and may have been executed; zero
	// if there was none. Whether it may yet be executed is a matter of the tracker.
	Unanswered clock.Moment
	Replicated Replicated
	Cut        error        // why the caller did not wait for another try; nil if it did
	Gone       clock.Moment // when it was seen that the context of the caller has ended; zero: not yet
	Silent     bool         // nobody has answered as long as the bound of the call says
}

// A Call is one run of a script, from the moment it is asked for until its outcome is known.
//
// All scripts are idempotent, so a call may be sent again. go-redis would do that by itself and not say
// so; here it has to be known whether an earlier try may have been executed, or may yet be, so a call
// does its own retries.
type Call struct {
	Request
	Try
	Result
	Then func(*Call) // takes the outcome on a goroutine of the lane, if no caller waits for it

	conn *Conn
	progress
}

// progress is how far a call is.
type progress struct {
	fate   atomic.Uint32 // going, pausing now and then; in the end taken or left, whichever comes first
	done   chan struct{} // of a caller that waits, else nil
	tries  int           // how many may still follow
	moving clock.Moment  // since then its slot moves
	pauses int           // how often it had to wait for that
	stays  bool          // its caller does the sending although its context may end: see Stay

	connecting atomic.Pointer[tryContext] // of the try that is under way, if it is bounded; else nil
	dialTimer  *dialTimer                 // of one whose caller does the sending; nil if others do
	failed     atomic.Pointer[error]      // of the latest try that has failed
	heard      atomic.Int64               // Moment.Mono of the latest one that the server has answered; 0: none
	alarm      *time.Timer                // of a caller that waits; nil before one has
}

const (
	going          uint32 = iota
	pausing               // the last try has failed, the next one is yet to be sent
	waitingForSlot        // the same, but its slot is on its way to another server
	taken                 // the outcome is there; the waiting caller takes it
	left                  // the caller has gone
)

// Reset makes a call new again: one whose outcome was taken by the caller that waited for it, so that
// nobody else has it any more.
func (c *Call) Reset() {
	*c = Call{progress: progress{done: c.done, alarm: c.alarm}}
}

// IsUnanswered reports whether an earlier try may have been executed.
func (c *Call) IsUnanswered() bool { return c.Unanswered != (clock.Moment{}) }

// IsLeft reports whether the caller has gone.
func (c *Call) IsAbandoned() bool { return c.fate.Load() == left }

// Failed returns why the latest try has failed, for a caller that leaves the call while the next one is
// under way; nil if none has.
func (c *Call) Failed() error {
	if failed := c.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}

// finish hands the outcome to whoever takes it. After that the call is theirs.
func (c *Call) finish() {
	conn := c.conn
	defer conn.finished()
	if c.Err == nil && !conn.warm.Load() {
		conn.warm.Store(true)
	}
	heard, messages := c.Heard, c.messages()
	if c.done != nil && c.fate.CompareAndSwap(going, taken) {
		c.done <- struct{}{}
	} else if c.Then != nil {
		c.Then(c)
	}
	for _, message := range messages { // last, so that whoever is told goes on first
		heard(message)
	}
}

// messages takes the texts off the end of a reply.
func (c *Call) messages() []string {
	reply, ok := c.Reply.([]any)
	if c.Heard == nil || !ok || c.Err != nil {
		return nil
	}
	var messages []string
	for n := len(reply); n > 1; n-- {
		message, ok := reply[n-1].(string)
		if !ok {
			break
		}
		messages = append(messages, message)
		reply = reply[:n-1]
	}
	slices.Reverse(messages)
	if c.Reply = reply; len(reply) == 1 {
		c.Reply = reply[0]
	}
	return messages
}

// Wait blocks until the outcome is there, or until ctx has ended and patience has run out; then it
// returns false, and the caller may leave. A negative patience has no end. If the call pauses then, the
// outcome is that of its last try; if it waits for a slot that moves, without patience.
func (c *Call) Wait(ctx context.Context, patience time.Duration) bool {
	if ctx.Done() == nil { // a plain receive is much cheaper
		<-c.done
		return true
	}
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
	}
	if c.halt(ctx, waitingForSlot) {
		return true
	}
	var enough <-chan time.Time
	if patience >= 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case <-c.done:
		return true
	case <-enough:
		return c.halt(ctx, waitingForSlot) || c.halt(ctx, pausing)
	}
}

// halt ends a call that pauses in such a way, for its caller whose ctx has ended: the outcome is that of
// the last try. It returns false if the call is under way, or done.
func (c *Call) halt(ctx context.Context, how uint32) bool {
	if !c.fate.CompareAndSwap(how, taken) {
		return false
	}
	c.Cut = context.Cause(ctx)
	c.conn.finished()
	return true
}

// Abandon gives up waiting: then will be told the outcome. It returns false if the outcome has come in
// this very moment. A bounded call that has no connection yet does not wait for one any longer.
func (c *Call) Abandon(then func(*Call)) bool {
	c.Then = then
	for {
		fate := c.fate.Load() // it may begin to pause, or go on, in this very moment
		if fate == taken {
			<-c.done
			return false
		}
		if c.fate.CompareAndSwap(fate, left) {
			if c.Tracker != nil {
				c.Tracker.Abandoned()
			}
			c.endConnecting(errNoConnection)
			return true
		}
	}
}

// endConnecting ends the try of a bounded call that has no connection yet.
func (c *Call) endConnecting(why error) {
	if t := c.connecting.Load(); t != nil {
		t.end(why)
	}
}

// isPlain reports whether the next try of a call may be a part of a bundle.
func (c *Call) isPlain() bool { return c.Plain && !c.Alone && len(c.Keys) <= plainKeys }

// before has the tracker prepare the next try, and reports whether it is to be sent. A call that was left is
// not.
func (c *Call) before() bool {
	c.twice = false
	if c.Tracker != nil {
		return c.Tracker.Before()
	}
	if c.IsAbandoned() {
		c.Err = ErrNotSent
		return false
	}
	return true
}

// after tells the tracker the outcome of the latest try.
func (c *Call) after(mayCome bool) {
	if c.Tracker != nil {
		c.Tracker.After(mayCome)
	}
}
