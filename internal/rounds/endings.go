package rounds

import (
	"math/rand/v2"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A waiter of the Client asks soon after the end of a lease that was in its way, even if it is not the first in line.
// The first asks when the lease is over, but it may have died, or wait for other keys as well.

const (
	// behindFirst is how long after the end of a lease a waiter asks that is not the first; a jitter is added. By then
	// the first has most likely got the key, and the waiter hears of the next lease.
	behindFirst = 5 * time.Millisecond
	// nextBehind is how long after that the next waiter for the same key asks, if nobody has heard of a lease.
	nextBehind = 10 * time.Millisecond
)

// A Blocker is what was in the way of a waiter when it asked.
type Blocker struct {
	Key  string       // zero: nobody knows
	Over clock.Moment // when its lease is over; zero: nobody knows, as with another waiter
}

// Left is how long its lease runs still, and a little more.
func (b Blocker) Left() time.Duration {
	if b.Over == (clock.Moment{}) {
		return clock.Longest
	}
	return clock.Now().Until(b.behind())
}

// behind is when a waiter asks that is not the first, if it is known when the lease is over.
func (b Blocker) behind() clock.Moment { return b.Over.Add(behindFirst + rand.N(behindFirst)) }

// Endings look when leases are over that are in the way of waiters of one Client. The mutex of the rounds guards them.
// The rounds look as well: a lease that ends after the next round is for that round.
type endings struct {
	rounds *Rounds
	entry  clock.Entry
}

// noteLocked takes note of when to look.
func (e *endings) noteLocked(at clock.Moment) {
	if at.Precedes(e.rounds.next) {
		e.rounds.schedule.PutBy(&e.entry, at)
	}
}

// Run looks whether a lease is over.
func (e *endings) Run(at clock.Moment) {
	e.rounds.mu.Lock()
	defer e.rounds.mu.Unlock()
	e.lookLocked(at)
}

// lookLocked finds the keys whose lease is over by the latest answer, and has the first waiter for each of them ask. If
// that waiter is refused for another key, or hears nothing soon, the next one asks. Nobody asks behind a waiter that
// another waiter kept out: that other one is alive.
func (e *endings) lookLocked(at clock.Moment) {
	latest, first, queued := make(map[string]*Seat), make(map[string]*Seat), make(map[string]clock.Moment)
	for _, s := range e.rounds.seats {
		if s.Over == (clock.Moment{}) {
			queued[s.Key] = queued[s.Key].Later(s.asked)
		} else if l := latest[s.Key]; l == nil || l.asked.Precedes(s.asked) {
			latest[s.Key] = s
		}
		if f := first[s.Key]; f == nil || s.place.Compare(f.place) < 0 {
			first[s.Key] = s
		}
	}
	for key, s := range latest {
		switch {
		case !at.Reached(s.Over):
			e.noteLocked(s.behind())
		case queued[key] == (clock.Moment{}) || queued[key].Precedes(s.Over):
			first[key].Waiter.AskAt(0)
			e.noteLocked(at.Add(nextBehind))
		}
	}
}
