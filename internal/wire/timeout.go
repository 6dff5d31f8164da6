package wire

import (
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A timeout ends the wait of a caller, or the try of a caller that does the sending itself, if it is not cleared in
// time. It is used for one call after the other, and its timer is not stopped in between, but finds out when it fires
// that there is nothing to do. To set and stop a timer for each call wakes other threads, and costs more than all else
// that this package does for the call.
type timeout struct {
	mu    sync.Mutex
	timer *time.Timer
	fires time.Duration // when the timer fires, as a Moment.Mono; 0: it does not run
	until time.Duration // when the time is over; 0: it is cleared
	try   *tryContext   // that ends then; nil: a caller is told
	rang  chan struct{} // tells the caller
}

// newTimeout takes a timeout that was used before, if there is one. It is given back with giveBack.
func (conn *Conn) newTimeout() *timeout {
	if t, ok := conn.spare.Get().(*timeout); ok {
		return t
	}
	return &timeout{rang: make(chan struct{}, 1)}
}

// giveBack clears a timeout, and keeps it for the next call.
func (conn *Conn) giveBack(t *timeout) {
	t.clear()
	conn.spare.Put(t)
}

// tell has the caller told when the time is over, unless it is set anew before.
func (t *timeout) tell(until time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.rang: // of a time before
	default:
	}
	t.setLocked(until)
}

// end has a try ended when the time is over.
func (t *timeout) end(try *tryContext, until time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.try = try
	t.setLocked(until)
}

func (t *timeout) setLocked(until time.Duration) {
	t.until = until
	if t.fires != 0 && t.fires <= until {
		return // it looks then
	}
	after := max(until-clock.Now().Mono, 0)
	if t.timer == nil {
		t.timer = time.AfterFunc(after, t.fire)
	} else {
		t.timer.Reset(after)
	}
	t.fires = until
}

// fire ends the time, or waits on for one that was set later.
func (t *timeout) fire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fires = 0
	switch {
	case t.until == 0:
	case clock.Now().Mono < t.until:
		t.setLocked(t.until)
	case t.try != nil:
		t.try.end(errNoConnection)
		t.until = 0
	default:
		t.until = 0
		select {
		case t.rang <- struct{}{}:
		default:
		}
	}
}

// clear has nothing happen any more.
func (t *timeout) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until, t.try = 0, nil
}
