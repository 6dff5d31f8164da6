package quorum

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
)

// TTL asks the nodes for the remaining lease, and returns how long a majority still has. Once a
// majority has answered, TTL waits for another node only if its lease is known to be longer by more
// than a third of the ttl and could make a difference. If too few nodes can have any lease left the
// error is a [redislock.ErrLockNotHeld]. If too few answer it is a [redislock.ErrUnknownOutcome].
func (l *Lock) TTL(ctx context.Context) (time.Duration, error) {
	if err := l.usable(); err != nil {
		return 0, fmt.Errorf("quorum: ttl: %w", err)
	}
	r, locks, w, ok := l.newRound(0)
	if !ok {
		return 0, l.notHeld("ttl")
	}
	r.enough = func() bool {
		longer := r.least() + w.ttl/3 // leases are renewed every third
		for i, lock := range locks {
			if r.asked[i] && r.waited[i] && time.Until(lock.Deadline()) > longer {
				return false
			}
		}
		return true
	}
	r.ask = func(i int) answer {
		ttl, err := locks[i].TTL(r.ctx)
		a := answerOf(err)
		a.ttl = ttl
		return l.heard(i, a, w)
	}
	r.begin(ctx)
	r.wait(ctx, 0)
	if r.yes < r.need {
		return 0, l.fault(ctx, "ttl", r, r.yes+r.count(open, unknown, failed) < r.need)
	}
	return r.least(), nil
}

// least returns how much of its lease a majority of the nodes still has at least, by the answers so far.
func (r *round) least() time.Duration {
	ttls := make([]time.Duration, 0, len(r.answers))
	for i := range r.answers {
		if r.answers[i].kind == yes {
			ttls = append(ttls, r.answers[i].ttl)
		}
	}
	slices.Sort(ttls)
	return ttls[len(ttls)-r.need]
}

// Refresh makes the lease at every node end ttl from now, even if it would have ended later. From
// then on the watchdog uses this ttl as well. Nodes that do not hold the lock are asked for it.
//
// Refresh returns when a majority has the new lease. If so many nodes have lost the lock that no
// majority is left, the lock is lost and the error is a [redislock.ErrLockNotHeld]. Otherwise, if too
// few nodes have confirmed the lease, the error is a [redislock.ErrUnknownOutcome]; or it contains
// the errors of the nodes, if too many of them have refused the lease or could not be asked. Some
// nodes have the new lease then, Deadline counts on no more than is certain, and it is safe to call
// Refresh again.
func (l *Lock) Refresh(ctx context.Context, ttl time.Duration) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("quorum: refresh: %w", err)
	}
	if err := l.quorum.checkTTL(ttl); err != nil {
		return fmt.Errorf("quorum: refresh: %w", err)
	}
	began := clock.Now()
	err := l.refresh(ctx, ttl)
	if tell := l.quorum.hooks.Refreshed; tell != nil {
		l.report(ctx, tell, began, told{attempts: 1, expires: l.expires(), err: err})
	}
	return err
}

// refresh is Refresh without the hooks.
func (l *Lock) refresh(ctx context.Context, ttl time.Duration) error {
	if ctx.Err() != nil {
		return fmt.Errorf("quorum: refresh%s: not asked: %w", l.want.name(), context.Cause(ctx))
	}
	r, locks, w, ok := l.newRound(ttl)
	if !ok {
		return l.notHeld("refresh")
	}
	owes := l.seek(r)
	r.ask = func(i int) answer {
		if locks[i] == nil {
			return l.fetch(r.ctx, i, w, owes[i])
		}
		err := locks[i].Refresh(r.ctx, ttl)
		a := l.heard(i, answerOf(err), w)
		if a.kind == no {
			l.drop(i, locks[i], a.err)
		}
		return a
	}
	r.begin(ctx)
	r.wait(ctx, 0)
	if r.yes < r.need {
		return l.fault(ctx, "refresh", r, l.ended())
	}
	l.mu.Lock()
	l.want.ttl, l.want.patience = w.ttl, w.patience
	if l.armed && l.state == held {
		l.timer.Reset(w.ttl / 3)
	}
	tell := func() {}
	if l.state == held && l.liveLocked() < l.quorum.need { // attached, with a lease that is over already
		tell = l.loseLocked(l.deadlineLocked())
	}
	l.mu.Unlock()
	tell()
	if l.ended() {
		return l.notHeld("refresh")
	}
	return nil
}

// newRound prepares a round of all nodes that hold the lock, about a lease of ttl; 0: the last one. It
// reports false if the lock is not held.
func (l *Lock) newRound(ttl time.Duration) (r *round, locks []*redislock.Lock, w *want, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != held {
		return nil, nil, nil, false
	}
	wanted := l.want
	w = &wanted
	if ttl > 0 {
		w.ttl, w.patience = ttl, l.quorum.patience(ttl)
	}
	locks = make([]*redislock.Lock, len(l.holds))
	for i := range l.holds {
		locks[i] = l.holds[i].lock
	}
	return l.roundOf(locks, w), locks, w, true
}

// roundOf prepares a round of all nodes that have a lock.
func (l *Lock) roundOf(locks []*redislock.Lock, w *want) *round {
	r := l.quorum.newRound(w, l)
	for i, lock := range locks {
		if lock != nil {
			r.enter(i, !l.quorum.nodes[i].suspected(w))
		}
	}
	return r
}

// seek enters the missing nodes into a round. It returns what is under way at them.
func (l *Lock) seek(r *round) []owed {
	owes := make([]owed, len(r.answers))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quorum.closed.Load() {
		return owes
	}
	for _, i := range l.missingLocked() {
		if r.answers[i].kind == absent {
			l.holds[i].asked = true
			r.enter(i, !l.quorum.nodes[i].suspected(r.want))
			owes[i] = l.quorum.nodes[i].owed(r.want)
		}
	}
	return owes
}

// fetch asks one node for the lock, until the lock has ended. A node that does not hold the lock yet leaves nothing in
// doubt.
func (l *Lock) fetch(ctx context.Context, i int, w *want, owed owed) answer {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if !l.fetching(i, stop) {
		return answer{kind: failed, err: errTooLate}
	}
	defer l.fetched(i)
	n, a := l.quorum.nodes[i], answer{kind: failed, err: errBehind, again: true}
	if owed.settle(ctx) {
		a = n.obtain(w.under(ctx), n.admit(w), w)
	}
	if err := l.joined(ctx, i, a); err != nil {
		if a.lock != nil {
			l.giveBack(a.lock)
		}
		return answer{kind: failed, err: err}
	}
	return a
}

// fetching enters a node that is about to be asked for the lock; false: it is over.
func (l *Lock) fetching(i int, stop func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != held {
		l.holds[i].asked = false
		return false
	}
	l.holds[i].stop = stop
	return true
}

func (l *Lock) fetched(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.holds[i].stop = nil
}

// heard takes note of how a node answers.
func (l *Lock) heard(i int, a answer, w *want) answer {
	a.again = a.kind == unknown || a.kind == failed && !isArgument(a.err)
	l.quorum.nodes[i].learn(a, false, w)
	return a
}

// isFact reports whether an error of a node says what has become of a lock. If the node was asked to join
// in, that is not this lock, which is held elsewhere.
func isFact(err error) bool {
	return errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, redislock.ErrLockNotHeld) ||
		errors.Is(err, redislock.ErrUnknownOutcome)
}

func (l *Lock) notHeld(operation string) error {
	return fmt.Errorf("quorum: %s%s: %w", operation, l.want.name(), redislock.ErrLockNotHeld)
}

// fault is the error of a round without a majority.
func (l *Lock) fault(ctx context.Context, operation string, r *round, gone bool) error {
	e := &refusal{nodes: r.nodes()}
	bad := r.argument()
	switch {
	case bad != nil:
		e.text, e.is = bad.Error(), []error{bad}
	case gone:
		e.text = redislock.ErrLockNotHeld.Error() + ": " + r.tally()
		e.is = []error{redislock.ErrLockNotHeld}
	case r.yes+r.count(open, unknown) < r.need: // nothing is in doubt
		e.text, e.is = r.tally(), slices.DeleteFunc(r.errs(failed), isFact)
	default:
		e.text = redislock.ErrUnknownOutcome.Error() + ": " + r.tally()
		e.is = append([]error{redislock.ErrUnknownOutcome}, r.errs(unknown)...)
		if ctx.Err() != nil {
			e.is = append(e.is, context.Cause(ctx))
		}
	}
	return fmt.Errorf("quorum: %s%s: %w", operation, l.want.name(), e)
}
