package quorum

import (
	"context"
	"fmt"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock"
)

// Release frees the keys at all nodes at once, and ends the watchdog and the winning back. It
// returns nil if a majority has confirmed that they were ours and are free,
// [redislock.ErrLockNotHeld] if fewer than a majority can have been ours, and
// [redislock.ErrUnknownOutcome] otherwise. What is still ours is free in every case, and what was
// not confirmed yet goes on in the background until the lease is over; [Client.Close] waits for what
// is under way.
//
// It does its work also if ctx has ended already, or ends meanwhile: then it returns 100 ms later. It
// waits for the nodes no longer than the node time-out, and not for those that are suspected, if the
// others are enough; it does wait for those that have not answered the Obtain yet, or are being won
// back, which it ends. If nodes refuse it, so that no majority can be free, the error is theirs. A nil
// lock holds nothing: [redislock.ErrLockNotHeld].
func (l *Lock) Release(ctx context.Context) error {
	if l == nil {
		return fmt.Errorf("quorum: release: %w", redislock.ErrLockNotHeld)
	}
	wait := grace
	l.mu.Lock()
	gone, w := l.state == lost, l.want
	if ctx.Err() != nil {
		wait = w.patience
	}
	locks, tell := l.endLocked(released)
	still := l.still
	l.mu.Unlock()
	tell()
	r := l.free(ctx, locks, &w, false)
	r.wait(ctx, wait)
	// What is granted late is released by then, too. Otherwise it could land after the release, when
	// the caller asks for the keys again, and be in the way.
	r.await(ctx, l.first.quiet, wait)
	if still != nil {
		r.await(ctx, still, wait)
	}
	switch {
	case gone:
		return l.notHeld("release")
	case r.yes >= r.need:
		return nil
	}
	return l.fault(ctx, "release", r, r.yes+r.count(open, unknown, failed) < r.need)
}

// free begins to release what the nodes have.
func (l *Lock) free(ctx context.Context, locks []*redislock.Lock, w *want, every bool) *round {
	r := l.quorum.roundOf(locks, w)
	r.every = every
	r.ask = func(i int) answer {
		return l.heard(i, answerOf(locks[i].Release(r.ctx)), w)
	}
	r.begin(ctx)
	return r
}

// discard releases what the nodes have of a lock that nobody gets.
func (l *Lock) discard(ctx context.Context) {
	l.mu.Lock()
	w := l.want
	locks, _ := l.endLocked(released) // nobody has asked to be told
	l.mu.Unlock()
	l.free(ctx, locks, &w, true).wait(ctx, grace)
	l.first.await(ctx, l.first.quiet, grace)
}

// raise makes the greatest number that a node has given that of the lock at every node. A majority
// has to have it: then every later lock finds it at one of its nodes.
func (l *Lock) raise(ctx context.Context) *refusal {
	r, locks, w := l.newRound()
	if r == nil {
		return &refusal{text: "lost before it had its number", is: []error{redislock.ErrNotObtained}, again: true, free: backoff.Stop}
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
