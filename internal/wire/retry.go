package wire

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A call that failed is sent again: a few times soon, and for as long as a slot of a Cluster is on its way to another
// server.

// longestMove is how long to wait for a slot that moves, if a caller waits and says no more. The server refuses a
// request for several keys if some are missing, even keys that never existed, until all have gone. That takes seconds,
// unless the move is stuck.
const longestMove = 10 * time.Second

// isMoving reports whether a server with keys on their way to another one has given the error.
func isMoving(err error) bool { return redis.HasErrorPrefix(err, "TRYAGAIN") }

// resend reports whether the failed call is worth another try, and after which pause. It notes that the last try may
// have been executed.
func (c *Call) resend() (pause time.Duration, ok bool) {
	if errors.Is(c.Err, errNoConnection) && !c.IsAbandoned() {
		return 0, true // too long for its caller: somebody else waits for the connection
	}
	c.conn.Failed(c.Err)
	c.remember()
	switch Classify(c.Err) {
	case Final:
		return 0, false
	case Unknown:
		c.noteUnanswered()
	}
	switch {
	case c.IsAbandoned():
		return 0, false
	case isMoving(c.Err):
		if !c.waitsForSlot(clock.Now()) {
			return 0, false
		}
		pause = movePause(c.pauses)
		c.pauses++
	case c.tries == 0:
		return 0, false
	default:
		c.tries--
		pause = tryPause(c.tries)
	}
	if c.IsUnanswered() {
		c.Run.Resent()
	}
	return pause, true
}

// remember notes why a try has failed, and whether that was an answer of the server, for a caller that abandons the
// call while the next try is under way.
func (c *Call) remember() {
	if !c.Bounded || errors.Is(c.Err, errNoConnection) || errors.Is(c.Err, ErrNotSent) {
		return
	}
	err := c.Err
	c.failed.Store(&err)
	if isAnswer(err) {
		c.heard.Store(int64(clock.Now().Mono))
	}
}

// noteUnanswered notes that the latest try may have been executed, or may still be.
func (c *Call) noteUnanswered() {
	if !c.IsUnanswered() {
		c.Unanswered = c.Sent
	}
}

// waitsForSlot reports whether the call may wait for a slot that moves, and from when that counts. A Close does not
// wait for the slot.
func (c *Call) waitsForSlot(at clock.Moment) bool {
	if c.moving == (clock.Moment{}) {
		c.moving = at
	}
	return at.Precedes(c.moving.Add(c.WaitForSlot)) && !c.conn.draining.Load()
}

// sendAfter has the call sent again after a pause, if that still makes sense then. It returns false if the caller has
// gone meanwhile.
func (c *Call) sendAfter(l *lane, pause time.Duration) bool {
	how := pausing
	if isMoving(c.Err) {
		how = waitingForSlot
	}
	if c.Remaining != nil {
		pause = min(pause, max(c.Remaining()/4, 10*time.Millisecond)) // it may be the last chance
	}
	if !c.fate.CompareAndSwap(going, how) {
		return false
	}
	if c.byCaller { // else its caller may read it at this moment
		c.byCaller = false
	}
	time.AfterFunc(pause, func() {
		switch {
		case !c.fate.CompareAndSwap(how, going) && !c.IsAbandoned(): // halted
		case c.Remaining != nil && c.Remaining() <= 0:
			c.finish()
		default:
			l.send(c, false)
		}
	})
	return true
}

// tryPause returns how long a failed call waits before its next try: about 40, 160, 640 ms.
func tryPause(left int) time.Duration {
	pause := 10 * time.Millisecond << (2 * max(0, DefaultTries-1-left))
	return pause/2 + rand.N(pause)
}

// movePause returns how long a call waits for a slot that moves before it asks again: 50 ms at first, up to
// 800 ms in the end.
func movePause(pauses int) time.Duration {
	pause := 50 * time.Millisecond << min(pauses, 3)
	return pause + rand.N(pause)
}
