package wire

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A Wish is what a caller asks for. It does not change while its call is under way.
type Wish struct {
	Context context.Context // of the caller; the call outlives its end
	Run     Run

	Plain    bool // the bundle script may do it, together with others
	Alike    bool // a refusal of it is one of every other such call with a like Run
	Repeats  bool // its caller was refused before and asks again: other calls do not wait behind it
	Bounded  bool // its caller goes at some time even without an answer
	Replicas Replicas

	WaitForSlot time.Duration        // how long to wait for a slot that moves, which is no try; 0: as usual
	Remaining   func() time.Duration // for how long another try makes sense; nil: for ever
	Heard       func(message string) // takes the messages at the end of a reply; nil: there are none
	Tracker     Tracker              // may be nil
}

// A Run is a script with its KEYS and ARGV. Only the owner of the script knows their meaning.
type Run interface {
	Script() *Script
	// Keys returns the lock keys among its KEYS, which find the server.
	Keys() []string
	// Size returns how many keys and how many arguments the next try has.
	Size() (keys, args int)
	// Append appends the number of keys, the keys and the arguments of the next try.
	Append(to []any) []any
	// IsLike reports whether another run of the same script asks for the same on behalf of somebody else.
	IsLike(another Run) bool
	// IsRefusal reports whether a reply says that nothing was done, and why.
	IsRefusal(reply any) bool
	// Takes reports whether it writes something new, and so may be refused for want of memory.
	Takes() bool
	// Resent is called before the call is sent again if an earlier try may have been executed.
	Resent()
}

// A Tracker is told of each try of a call, by one goroutine at a time.
type Tracker interface {
	// Before is called right before a try is sent. It may set the Try. If it returns false the call is not sent, and
	// the tracker has set its Result. It must return false if the call was abandoned.
	Before() bool
	// After is called when the outcome of a try is there. mayCome says that the try may still be executed, by what the
	// error and the Redis client say.
	After(mayCome bool)
	// Abandoned is called when the caller has gone.
	Abandoned()
}

// A Try is how a call is sent the next time.
type Try struct {
	Alone bool // it cannot be a part of a bundle
	twice bool // whatever its outcome, it may have been sent before
}

// A Result is the outcome of a call. The lane writes it, and it is read when the call is over.
type Result struct {
	Reply any
	Err   error
	Sent  clock.Moment // before the latest try was sent
	// Unanswered is when the first try was sent that was not answered and may have been executed; zero if there was
	// none. The tracker knows whether it may still be executed.
	Unanswered clock.Moment
	Replicated Replicated
	Cut        error        // why the caller did not wait for another try; nil if it did
	Gone       clock.Moment // when the context of the caller was seen to have ended; zero: not yet
	Silent     bool         // nobody has answered within the bound of the call
}

// A Call is one run of a script, from the moment it is asked for until its outcome is known.
//
// All scripts are idempotent, so a call may be sent again. go-redis would do that by itself without saying so. But it
// must be known whether an earlier try was executed or may still be, so a call does its own retries.
type Call struct {
	Wish
	Try
	Result
	Then func(*Call) // takes the outcome on a goroutine of the lane, if no caller waits for it

	Began clock.Moment // when its caller has sent it, if it is bounded; only the caller asks for it

	conn *Conn
	progress
}

// progress is how far a call is.
type progress struct {
	fate   atomic.Uint32 // going, pausing now and then; in the end taken or left
	done   chan struct{} // has a caller that waits look at the fate and the time; nil: none waits
	tries  int           // how many may still follow
	moving clock.Moment  // since then its slot moves
	pauses int           // how often it had to wait for the slot
	stays  bool          // its caller may do the sending although its context may end: see Stay

	byCaller bool // its caller has done the sending, and finds the outcome when it comes back

	connecting atomic.Pointer[tryContext] // the latest try by itself, if it is bounded; it may be over
	limit      *timeout                   // of its caller; nil before it needs one
	failed     atomic.Pointer[error]      // why the latest try failed that did
	unused     chan struct{}              // that the latest bounded try has not closed, for the next one
	heard      atomic.Int64               // Moment.Mono of the latest try that the server answered; 0: none
}

const (
	going          uint32 = iota
	pausing               // the last try has failed, the next one is yet to be sent
	waitingForSlot        // the same, but its slot is on its way to another server
	taken                 // the outcome is there; the waiting caller takes it
	left                  // the caller has gone
)

// Reset makes a call new again. The caller that waited for it must have taken its outcome, so that nobody else has the
// call any more.
func (c *Call) Reset() {
	*c = Call{progress: progress{done: c.done, unused: c.unused, limit: c.limit}}
}

// limited returns the timeout of the caller.
func (c *Call) limited() *timeout {
	if c.limit == nil {
		c.limit = new(timeout)
	}
	return c.limit
}

// IsUnanswered reports whether an earlier try may have been executed.
func (c *Call) IsUnanswered() bool { return c.Unanswered != (clock.Moment{}) }

// IsAbandoned reports whether the caller has gone.
func (c *Call) IsAbandoned() bool { return c.fate.Load() == left }

// Failed returns why the latest try has failed, for a caller that abandons the call while the next one is under way;
// nil if none has.
func (c *Call) Failed() error {
	if failed := c.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}

// finish hands over the outcome. After that the call belongs to the receiver.
func (c *Call) finish() {
	conn := c.conn
	defer conn.finished()
	if c.Err == nil && !conn.warm.Load() {
		conn.warm.Store(true)
	}
	heard, messages := c.Heard, []string(nil)
	if heard != nil {
		messages = c.messages()
	}
	// A caller that has just looked may take the call when its fate is set, and use it again.
	done, byCaller := c.done, c.byCaller
	if done != nil && c.fate.CompareAndSwap(going, taken) {
		if !byCaller {
			look(done)
		}
	} else if c.Then != nil {
		c.Then(c)
	}
	for _, message := range messages { // last, so that the receivers of the messages go on first
		heard(message)
	}
}

// look has the caller that receives from a channel look what there is.
func look(done chan struct{}) {
	select {
	case done <- struct{}{}:
	default: // it is about to
	}
}

// messages takes the texts off the end of a reply.
func (c *Call) messages() []string {
	reply, ok := c.Reply.([]any)
	if !ok || c.Err != nil {
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

// halt ends a call that pauses in this way, for a caller whose ctx has ended: the outcome is the result of the last
// try. It returns false if the call is under way, or done.
func (c *Call) halt(ctx context.Context, how uint32) bool {
	if !c.fate.CompareAndSwap(how, taken) {
		return false
	}
	c.Cut = context.Cause(ctx)
	c.conn.finished()
	return true
}

// Abandon abandons the call: then will be called with the outcome. It returns false if the outcome has come in this very
// moment. A bounded call that has no connection yet stops waiting for one.
func (c *Call) Abandon(then func(*Call)) bool {
	c.Then = then
	for {
		fate := c.fate.Load() // it may begin to pause, or go on, in this very moment
		if fate == taken {
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
func (c *Call) isPlain() bool { return c.Plain && !c.Alone && len(c.Run.Keys()) <= plainKeys }

// before has the tracker prepare the next try, and reports whether to send it. An abandoned call is not sent.
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
