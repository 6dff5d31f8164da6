// Package lease has the rules by which a lock counts on its lease. The model in proof/models/renewal shows that by these
// rules no lock counts on a lease that it may not have.
package lease

import (
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A Lease is what a lock knows of its lease. It is a plain value: its rules ask for no time, wait for nothing and lock
// nothing. The zero Lease is that of a handle which has never asked for one.
type Lease struct {
	TTL      time.Duration // that was confirmed last, and that renewals ask for; 0: none was
	Longest  time.Duration // the longest ttl that any request has asked for
	Obtained clock.Moment  // when its Obtain was sent; zero: there was none
	Deadline clock.Moment  // until then the lock is certain; zero: nothing is known
	Certain  time.Duration // the ttl that ends at the deadline; less than TTL while a shorter lease may have begun
	Changes  int           // how often a change began or ended: a request for a new lease that is no renewal
	asked    time.Duration // the ttl of the change that is under way; 0: there is none
}

// Begin returns a lease that a request which was sent then has obtained. Of its ttl counts what is certain from then on.
func Begin(sent clock.Moment, ttl time.Duration) Lease {
	return Lease{TTL: ttl, Longest: ttl, Obtained: sent, Deadline: sent.Add(clock.Window(ttl)), Certain: ttl}
}

// Ask begins a change, which is about to be sent: the server may have done it from then on, so the shorter of the two
// leases counts. Ask returns the lease as it was, and reports whether the deadline is earlier now.
func (l *Lease) Ask(at clock.Moment, ttl time.Duration) (before Lease, earlier bool) {
	before = *l
	l.Longest, l.asked = max(l.Longest, ttl), ttl
	l.Changes++
	deadline := l.Deadline.Earlier(Begin(at, ttl).Deadline)
	if earlier = l.Deadline != (clock.Moment{}) && deadline != l.Deadline; earlier {
		l.Deadline, l.Certain = deadline, min(l.Certain, ttl)
	}
	return before, earlier
}

// Settle ends a change: it was answered, or nobody waits for its answer any more. If it is certain that nothing was done
// the deadline comes back that Ask has made earlier, and Settle reports that.
func (l *Lease) Settle(before Lease, undone bool) (later bool) {
	l.asked = 0
	l.Changes++
	if later = undone && l.Deadline.Precedes(before.Deadline); later {
		l.Deadline, l.Certain = before.Deadline, before.Certain
	}
	return later
}

// Confirm begins the lease of a change that was sent then, and was done. It changes nothing, and reports false, if by now
// nothing of that lease is certain.
func (l *Lease) Confirm(sent, now clock.Moment, ttl time.Duration) bool {
	begun := Begin(sent, ttl)
	if now.Reached(begun.Deadline) {
		return false
	}
	l.TTL, l.Deadline, l.Certain = ttl, begun.Deadline, ttl
	return true
}

// Renew takes in that a renewal was done. It was sent then, for this ttl, when there had been so many changes. Renew
// reports whether it counts: no change has begun or ended since, and the deadline does not become earlier by it. A change
// that is under way may have been done after it, so the shorter of the two leases counts.
func (l *Lease) Renew(sent clock.Moment, ttl time.Duration, changes int) bool {
	if l.asked > 0 {
		ttl = min(ttl, l.asked)
	}
	deadline := Begin(sent, ttl).Deadline
	if l.Changes != changes || !deadline.Reached(l.Deadline) {
		return false
	}
	l.Deadline, l.Certain = deadline, ttl
	return true
}

// Next returns when the next renewal is due after a request for the lease was sent: after a third of what counts.
func (l *Lease) Next(sent clock.Moment) clock.Moment {
	return sent.Add(min(l.Certain, l.Deadline.Mono-sent.Mono) / 3)
}

// Alarm returns when the loss is declared if nothing else happens: a little before the deadline, so that everyone who
// waits for it is told by then. How much before depends on the lease that counts. While a shorter lease may begin, a
// little of the longer one may be more than all of the shorter one.
func (l *Lease) Alarm() clock.Moment {
	return l.Deadline.Add(-min(l.Certain/20, 100*time.Millisecond))
}

// Look says when to look at the lease if the next renewal is due then, or if there is none, which is the zero moment: at
// the renewal, or at the alarm if that comes first. A renewal may come early, to go together with others.
func (l *Lease) Look(next clock.Moment) (due clock.Moment, early time.Duration) {
	if due = l.Alarm(); next.Precedes(due) && next != (clock.Moment{}) {
		return next, l.Certain / 30
	}
	return due, 0
}

// Due reports whether the renewal is due that was to be sent then, and when the one after it is if no answer comes: a lost
// reply is not a loss.
func (l *Lease) Due(at, next clock.Moment) (due bool, again clock.Moment) {
	if next == (clock.Moment{}) || !at.Add(l.Certain/30).Reached(next) {
		return false, next
	}
	return true, at.Add(max(l.Certain/9, time.Millisecond))
}

// Left returns for how long the lock is certain still, not more than so long.
func (l *Lease) Left(at clock.Moment) time.Duration {
	if l.Deadline == (clock.Moment{}) {
		return clock.Longest
	}
	return -at.Since(l.Deadline)
}

// Covers reports whether a request was sent before the deadline. The zero moment is none.
func (l *Lease) Covers(sent clock.Moment) bool {
	return sent != (clock.Moment{}) && !sent.Reached(l.Deadline)
}

// IsOver reports whether a hold that was never released has certainly ended: the whole of its lease is over, with what
// the deadline leaves out.
func (l *Lease) IsOver(at clock.Moment) bool {
	return at.Reached(l.Deadline.Add(l.Certain - clock.Window(l.Certain)))
}
