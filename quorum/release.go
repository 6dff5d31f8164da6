package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// Release frees the keys at all nodes at once, and ends the watchdog. It returns nil if a majority
// has confirmed that the keys were ours and are free. The error is a [redislock.ErrLockNotHeld] if
// the keys can have been ours at fewer nodes than a majority, and a [redislock.ErrUnknownOutcome]
// otherwise. If so many nodes refuse the release that no majority can be free, the error is theirs.
//
// Release returns as soon as that is known, and leaves the rest to the background. A node that has
// answered neither the Obtain nor the Release yet may have the keys locked for a moment longer. Keys
// that it still has of ours, or grants late, are freed as soon as it answers or its lease is over,
// and [Client.Close] waits for requests that are under way. Until then that node refuses the keys to
// everybody. That delays nobody who can have the other nodes, because they are a majority.
//
// Release does its work even if ctx has ended, or ends meanwhile: then it returns 100 ms later. It
// waits no longer than the node time-out for a node that it needs and that does not answer.
func (l *Lock) Release(ctx context.Context) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("quorum: release: %w", err)
	}
	return l.end(ctx, "release")
}

// Leave ends the lock, as [Lock.Release] does, but leaves its keys taken for ttl from now: nobody holds
// them, and nobody can have them before that time is over. Keys that are read can be read by others
// meanwhile. The ttl is at most 365 days, or the time of [redislock.WithMinUptime], and may be shorter or
// longer than what is left of the lease. If it is not positive, because the time until which the keys were
// to be left has passed, Leave is a Release. If the lock was obtained with [redislock.Options].HoldAtLeast,
// and more is left of that, the keys are left for that time.
//
// It returns nil if a majority has confirmed that the keys were ours and are left. Nodes that do not
// hold the lock at that time have nothing to leave, and may grant the keys to others, but these nodes
// are too few for a lock. Everything else is as in Release, and at each node as in
// [redislock.Lock.Leave].
func (l *Lock) Leave(ctx context.Context, ttl time.Duration) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("quorum: leave: %w", err)
	}
	if ttl > 0 {
		if err := l.quorum.checkTTL(max(ttl, time.Millisecond)); err != nil {
			return fmt.Errorf("quorum: leave: %w", err)
		}
		l.holdFor(ttl)
	}
	return l.end(ctx, "leave")
}

// end frees the keys at all nodes, or leaves them as long as they are to be kept.
func (l *Lock) end(ctx context.Context, operation string) error {
	wait, began := grace, clock.Now()
	l.endings.Take(ctx)
	defer l.endings.End()
	l.mu.Lock()
	first, gone, w, keep := l.state == held, l.state == lost, l.want, l.keep
	if gone {
		keep = clock.Moment{} // what is left is being freed
	}
	if ctx.Err() != nil {
		wait = w.patience
	}
	locks, tell := l.endLocked(released)
	l.mu.Unlock()
	tell()
	r := l.roundOf(locks, &w)
	l.free(ctx, r, locks, keep)
	r.wait(ctx, wait)
	what := told{attempts: 1, ended: true}
	switch {
	case gone:
		what.err = l.notHeld(operation)
	case r.yes < r.need:
		what.err = l.fault(ctx, operation, r, r.yes+r.count(open, unknown, failed) < r.need)
	}
	switch missed := errors.Is(what.err, redislock.ErrLockNotHeld); {
	case !missed:
		what.kept = began.Until(keep)
	case first:
		l.mu.Lock()
		l.missed = true
		l.mu.Unlock()
	}
	l.report(ctx, l.quorum.hooks.Released, began, what)
	return what.err
}

// wasReleased reports whether the lock was released or left before it was lost.
func (l *Lock) wasReleased() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == released && !l.missed
}

// freeAtOnce has a Release free the keys, whatever HoldAtLeast says.
func (l *Lock) freeAtOnce() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep = clock.Moment{}
}

// free begins to release what the nodes of a round have, or to leave it until the end of keep, if there is one.
func (l *Lock) free(ctx context.Context, r *round, locks []*redislock.Lock, keep clock.Moment) {
	r.stays = true
	r.ask = func(i int) answer {
		return l.heard(i, answerOf(freeUntil(r.ctx, locks[i], keep)), r.want)
	}
	r.begin(ctx)
}

// freeUntil releases what a node has, or leaves it for the rest of the time until then.
func freeUntil(ctx context.Context, lock *redislock.Lock, keep clock.Moment) error {
	if rest := clock.Now().Until(keep); keep != (clock.Moment{}) && rest > 0 {
		return lock.Leave(ctx, rest)
	}
	return lock.Release(ctx)
}

// discard releases what the nodes have granted to an Obtain that has failed. It waits for the nodes that
// were the first majority to answer the Obtain: most likely they are as quick again. Slower nodes, and
// nodes that have not answered at all, do not delay anybody who has these nodes.
func (l *Lock) discard(ctx context.Context, first *round) {
	l.mu.Lock()
	w := l.want
	locks, _ := l.endLocked(released) // nobody has asked to be told
	l.mu.Unlock()
	r := l.quorum.newRound(&w, l)
	r.need, r.every = 0, true
	for i, lock := range locks {
		if lock != nil {
			r.enter(i, first.prompt[i] && !l.quorum.nodes[i].suspected(&w))
		}
	}
	l.free(pace.GivingBack(ctx), r, locks, clock.Moment{})
	r.wait(ctx, grace)
}

// raise stores the greatest number that a node has given at every node. A majority has to have it:
// then every later lock finds it at one of its nodes.
func (l *Lock) raise(ctx context.Context) *refusal {
	r, locks, w, ok := l.newRound(0)
	if !ok {
		return lostBefore("it had its number")
	}
	r.ask = func(i int) answer {
		a := l.heard(i, answerOf(locks[i].RaiseFence(r.ctx, l.number)), w)
		a.again = a.kind != yes
		return a
	}
	r.begin(ctx)
	r.wait(ctx, 0)
	return r.refused()
}
