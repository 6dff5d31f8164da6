package redislock

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A call is one run of a script, from the moment it is asked for until its outcome is known.
//
// All scripts are idempotent for (keys, token), so a call may be sent again. go-redis would do
// that by itself and not say so; here it has to be known whether an earlier try may have been
// executed, or may yet be, so a call does its own retries.
type call struct {
	script    *script
	transport *transport
	ctx       context.Context // of the caller; the call outlives its end

	keys  []string
	extra []string // keys behind them that a reply does not count; of a plain call their lines
	value *string  // by reference: hooks of the Redis client are not to print tokens
	ttl   int64    // ms; 0: the script has none
	more  []any    // further arguments

	ack ack // of the replicas that it needs

	plain    bool // batch.lua may try to do it, together with others
	numbered bool // its success comes with a fencing number
	bounded  bool // its caller goes at some time also if there is no answer

	tries int          // how many may still follow
	sent  clock.Moment // before the latest try was sent
	reply any
	err   error

	// unanswered is when the first try was sent that was not answered, and may have been executed; zero if
	// there was none. Whether it may yet be is a matter of the passage.
	unanswered clock.Moment
	passage

	ls *listeners // who are told what the reply says to them; may be nil

	rides     time.Duration        // for so long a slot that moves is waited for, which is no try; 0: as usual
	moving    clock.Moment         // since then it is
	rests     int                  // how often it had to
	remaining func() time.Duration // for how long another try makes sense; nil: for ever

	// resent is called before the call is sent again if an earlier try may have been executed.
	resent func()
	// then takes the outcome on a goroutine of the lane, if no caller waits for it.
	then func(*call)
	done chan struct{} // of a caller that waits, else nil
	fate atomic.Uint32 // open, resting now and then; in the end taken or left, whichever comes first
	cut  error         // why the caller did not wait for another try; nil if it did

	trip   atomic.Pointer[trip]  // of the try that is under way, if it is bounded; else nil
	rush   *rush                 // of one whose caller does the sending; nil if others do
	failed atomic.Pointer[error] // of the latest try that has failed
	heard  atomic.Int64          // moment.Mono of the latest one that the server has answered; 0: none
	alarm  *time.Timer           // of a caller that waits; nil before one has
}

const (
	open    uint32 = iota
	resting        // the last try has failed, the next one is yet to be sent
	riding         // the same, but it waits for a slot that moves
	taken          // the outcome is there; the waiting caller takes it
	left           // the caller has gone
)

// newCall prepares a run of a script. Its arguments are the value and the ttl, as far as there
// are any, and then more.
func newCall(ctx context.Context, s *script, keys, extra []string, value *string, ttl int64, more ...any) *call {
	return &call{script: s, ctx: ctx, keys: keys, extra: extra, value: value, ttl: ttl, more: more}
}

// newCall takes a call that was recycled, if there is one.
func (t *transport) newCall(ctx context.Context, s *script, set keySet, value *string, ttl int64) *call {
	c, ok := t.recycled.Get().(*call)
	if !ok {
		c = &call{done: make(chan struct{}, 1)}
	}
	c.script, c.ctx, c.keys, c.extra, c.value, c.ttl = s, ctx, set.keys, set.lines, value, ttl
	return c
}

// recycle keeps a call for the next caller: one whose outcome was taken by the caller that waited
// for it, so that nobody else has it any more.
func (t *transport) recycle(c *call) {
	*c = call{done: c.done, alarm: c.alarm}
	t.recycled.Put(c)
}

// isUnsure reports whether an earlier try may have been executed.
func (c *call) isUnsure() bool { return c.unanswered != (clock.Moment{}) }

// finish hands the outcome to whoever takes it. After that the call is theirs.
func (c *call) finish() {
	t := c.transport
	defer t.finished()
	if c.err == nil && !t.warm.Load() {
		t.warm.Store(true)
	}
	ls, messages := c.ls, c.messages()
	if c.done != nil && c.fate.CompareAndSwap(open, taken) {
		c.done <- struct{}{}
	} else if c.then != nil {
		c.then(c)
	}
	for _, message := range messages { // last, so that whoever is told goes on first
		ls.hear(message)
	}
}

// messages takes out of a reply what it says to waiters of this Client.
func (c *call) messages() []string {
	reply, ok := c.reply.([]any)
	if c.ls == nil || !ok || c.err != nil {
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
	c.reply = reply
	if len(reply) == 1 {
		c.reply = reply[0]
	}
	return messages
}

// patience is how long a call whose caller's context has ended may still answer: most do, and
// then the outcome is known.
const patience = 100 * time.Millisecond

// wait blocks until the outcome is there, or until ctx has ended and patience has run out; then
// it returns false, and the caller may leave. A negative patience has no end. If the call rests then
// the outcome is that of its last try; if it rides on a slot that moves, without patience.
func (c *call) wait(ctx context.Context, patience time.Duration) bool {
	if ctx.Done() == nil { // a plain receive is much cheaper
		<-c.done
		return true
	}
	select {
	case <-c.done:
		return true
	case <-ctx.Done():
	}
	if c.halt(ctx, riding) {
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
		return c.halt(ctx, riding) || c.halt(ctx, resting)
	}
}

// leave gives up waiting: then will be told the outcome. It returns false if the outcome has come
// in this very moment. A bounded call that has no connection yet does not wait for one any longer.
func (c *call) leave(then func(*call)) bool {
	c.then = then
	for {
		fate := c.fate.Load() // it may come to rest, or go on, in this very moment
		if fate == taken {
			<-c.done
			return false
		}
		if c.fate.CompareAndSwap(fate, left) {
			c.owner.leave(c)
			if t := c.trip.Load(); t != nil {
				t.end()
			}
			return true
		}
	}
}

// code returns the integer of a reply, or the first of an array, then with the rest of it: 1 says
// that all went well, with a number if the call is numbered; 0 or less that it did not.
func (c *call) code() (int64, []any, error) {
	switch v := c.reply.(type) {
	case int64:
		return v, nil, nil
	case []any:
		if len(v) > 1 {
			if n, ok := v[0].(int64); ok && (n <= 0 || n == 1 && c.numbered && len(v) == 2) {
				return n, v[1:], nil
			}
		}
	}
	return 0, nil, c.garbled()
}

// garbled is the error for a reply that the script cannot have sent: another script answers, or
// something between us and Redis.
func (c *call) garbled() error {
	return fmt.Errorf("redislock: unexpected reply to %s: %T", c.script.Name(), c.reply)
}

// lost translates the indexes of a reply into keys.
func (c *call) lost(indexes []any) ([]string, error) {
	keys := make([]string, 0, len(indexes))
	for _, index := range indexes {
		i, ok := index.(int64)
		if !ok || i < 1 || i > int64(len(c.keys)) {
			return nil, c.garbled()
		}
		keys = append(keys, c.keys[i-1])
	}
	return keys, nil
}
