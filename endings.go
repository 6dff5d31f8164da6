package redislock

import (
	"math/rand/v2"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// This file has a waiter of the Client ask soon after a lease is over that was in its way, also if it is not the first in
// line: the first asks when the lease is over, but it may have died, or wait for other keys as well.

const (
	// behindFirst is how long after the end of a lease somebody asks who is not the first, and a jitter beside it: by then
	// the first has most likely got the key, and the waiter hears of the next lease.
	behindFirst = 5 * time.Millisecond
	// nextBehind is how long it takes until the next one asks who waits for the same key, if nobody has heard of a lease.
	nextBehind = 10 * time.Millisecond
)

// left is how long its lease runs still, and a little more.
func (b blocker) left() time.Duration {
	if b.over == (clock.Moment{}) {
		return maxTTL
	}
	return clock.Now().Until(b.behind())
}

// behind is when somebody asks who is not the first; zero if nobody knows.
func (b blocker) behind() clock.Moment {
	if b.over == (clock.Moment{}) {
		return b.over
	}
	return b.over.Add(behindFirst + rand.N(behindFirst))
}

// Endings look when leases are over that are in the way of the waiters of one Client. They are guarded by the mutex of the
// rounds, which look as well: what ends behind the next round is a matter of that one.
type endings struct {
	rounds  *rounds
	entry   clock.Entry
	planned clock.Moment // zero: it is not in the schedule
}

// A blocker is what was in the way of a waiter when it asked.
type blocker struct {
	key  string       // zero: nobody knows
	over clock.Moment // when its lease is over; zero: nobody knows, as with another waiter
}

// blockerOf reads a conflict that has just been answered.
func blockerOf(c *ConflictError) blocker {
	if c == nil || c.Mode == ModeRestarted {
		return blocker{}
	}
	b := blocker{key: c.Key}
	if c.TTL >= 0 && c.Mode != ModeQueue {
		b.over = clock.Now().Add(c.TTL + clock.AfterEnd)
	}
	return b
}

// noteLocked takes in when somebody is to look.
func (e *endings) noteLocked(at clock.Moment) {
	if at != (clock.Moment{}) && at.Precedes(e.rounds.next) && (e.planned == (clock.Moment{}) || at.Precedes(e.planned)) {
		e.planned = at
		e.rounds.client.schedule.Put(&e.entry, at, 0)
	}
}

// Run looks whether a lease is over.
func (e *endings) Run(at clock.Moment) {
	e.rounds.mu.Lock()
	defer e.rounds.mu.Unlock()
	e.planned = clock.Moment{}
	e.lookLocked(at)
}

// lookLocked has the first waiter for each key ask whose lease is over, as the latest answer about that says. If that one is
// refused for another key, or has not heard anything soon, the next one asks; nobody does after one that was kept out by
// another waiter, who is alive then.
func (e *endings) lookLocked(at clock.Moment) {
	latest, first, queued := make(map[string]*seat), make(map[string]*seat), make(map[string]clock.Moment)
	for _, s := range e.rounds.seats {
		if s.over == (clock.Moment{}) {
			queued[s.key] = queued[s.key].Later(s.asked)
		} else if l := latest[s.key]; l == nil || l.asked.Precedes(s.asked) {
			latest[s.key] = s
		}
		if f := first[s.key]; f == nil || s.place.Compare(f.place) < 0 {
			first[s.key] = s
		}
	}
	for key, s := range latest {
		switch {
		case !at.Reached(s.over):
			e.noteLocked(s.behind())
		case queued[key] == (clock.Moment{}) || queued[key].Precedes(s.over):
			first[key].blocker = blocker{}
			first[key].waiter.AskIn(0)
			e.noteLocked(at.Add(nextBehind))
		}
	}
}
