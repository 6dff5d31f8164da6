package redislock

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// This file is how a call that failed is sent again: a few times soon, and for as long as a slot of a
// Cluster is on its way to another server.

// longestMove is how long a slot that moves is waited for, if a caller waits and says no more. The server
// refuses whoever asks for several keys and finds some missing, also those that never were, until all
// have gone: a matter of seconds, unless the move is stuck.
const longestMove = 10 * time.Second

// isMoving reports whether the error is that of a server whose keys are on their way to another one.
func isMoving(err error) bool { return redis.HasErrorPrefix(err, "TRYAGAIN") }

// again reports whether the failed call is worth another try, and after which pause; and takes note
// that the last one may have been executed.
func (c *call) again() (pause time.Duration, ok bool) {
	if errors.Is(c.err, errNoConnection) && c.fate.Load() != left {
		return 0, true // that was too long for its caller: somebody else waits for the connection
	}
	c.transport.failed(c.err)
	c.remember()
	switch classify(c.err) {
	case final:
		return 0, false
	case unknown:
		c.doubt()
	}
	switch {
	case c.fate.Load() == left:
		return 0, false
	case isMoving(c.err):
		if !c.rideOn(clock.Now()) {
			return 0, false
		}
		pause = movePause(c.rests)
		c.rests++
	case c.tries == 0:
		return 0, false
	default:
		c.tries--
		pause = tryPause(c.tries)
	}
	if c.isUnsure() && c.resent != nil {
		c.resent()
	}
	return pause, true
}

// remember takes note of why a try has failed, and whether that was an answer of the server, for a caller
// that leaves the call while the next one is under way.
func (c *call) remember() {
	if !c.bounded || errors.Is(c.err, errNoConnection) {
		return
	}
	err := c.err
	c.failed.Store(&err)
	if _, answer := errors.AsType[redis.Error](err); answer {
		c.heard.Store(int64(clock.Now().Mono))
	}
}

// doubt takes note that the try that was sent last may have been executed, or may yet be.
func (c *call) doubt() {
	if !c.isUnsure() {
		c.unanswered = c.sent
	}
}

// rideOn reports whether the call may wait for a slot that moves, and from when it counts. A Close does
// not wait with it.
func (c *call) rideOn(at clock.Moment) bool {
	if c.moving == (clock.Moment{}) {
		c.moving = at
	}
	return at.Precedes(c.moving.Add(c.rides)) && !c.transport.draining.Load()
}

// rest has the call sent again after a pause, if that still makes sense then. It returns false if its
// caller has gone meanwhile.
func (c *call) rest(l *lane, pause time.Duration) bool {
	how := resting
	if isMoving(c.err) {
		how = riding
	}
	if c.remaining != nil {
		pause = min(pause, max(c.remaining()/4, 10*time.Millisecond)) // it may be the last chance
	}
	if !c.fate.CompareAndSwap(open, how) {
		return false
	}
	time.AfterFunc(pause, func() {
		switch {
		case !c.fate.CompareAndSwap(how, open) && c.fate.Load() != left: // halted
		case c.remaining != nil && c.remaining() <= 0:
			c.finish()
		default:
			l.send(c, false)
		}
	})
	return true
}

// halt ends a call that rests in such a way, for its caller whose ctx has ended: the outcome is that of
// the last try. It returns false if the call is under way, or done.
func (c *call) halt(ctx context.Context, how uint32) bool {
	if !c.fate.CompareAndSwap(how, taken) {
		return false
	}
	c.cut = context.Cause(ctx)
	c.transport.finished()
	return true
}

// tryPause returns how long a failed call waits before its next try: about 40, 160, 640 ms.
func tryPause(left int) time.Duration {
	pause := 10 * time.Millisecond << (2 * max(0, defaultTries-1-left))
	return pause/2 + rand.N(pause)
}

// movePause returns how long it rides on a slot that moves before it asks again: 50 ms at first, up to
// 800 ms in the end.
func movePause(rests int) time.Duration {
	pause := 50 * time.Millisecond << min(rests, 3)
	return pause + rand.N(pause)
}
