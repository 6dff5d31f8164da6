package quorum

import (
	"context"
	"fmt"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// Release frees the keys at all nodes at once, and ends the watchdog. It returns nil if a majority
// has confirmed that the keys were ours and are free. The error is a [redislock.ErrLockNotHeld] if
// fewer than a majority can have been ours, and a [redislock.ErrUnknownOutcome] otherwise. If nodes
// refuse the release, so that no majority can be free, the error is theirs.
//
// Release returns as soon as that is known, and leaves the rest to the background. A node that has
// answered neither the Obtain nor the Release yet may have the keys locked for a moment longer.
// What it still has of ours, or grants late, is freed as soon as it answers or its lease is over,
// and [Client.Close] waits for what is under way. Until then that node refuses whoever asks for the
// keys. That delays nobody who can have the other nodes, because they are a majority.
//
// Release does its work even if ctx has ended, or ends meanwhile: then it returns 100 ms later. If
// it needs the answer of a node that gives none, it waits no longer than the node time-out.
func (l *Lock) Release(ctx context.Context) error {
	if l.isNothing() {
		return fmt.Errorf("quorum: release: %w", redislock.ErrLockNotHeld)
	}
	wait := grace
	l.mu.Lock()
	gone, w := l.state == lost, l.want
	if ctx.Err() != nil {
		wait = w.patience
	}
	locks, tell := l.endLocked(released)
	l.mu.Unlock()
	tell()
	r := l.roundOf(locks, &w)
	l.free(ctx, r, locks)
	r.wait(ctx, wait)
	switch {
	case gone:
		return l.notHeld("release")
	case r.yes >= r.need:
		return nil
	}
	return l.fault(ctx, "release", r, r.yes+r.count(open, unknown, failed) < r.need)
}

// free begins to release what the nodes of a round have.
func (l *Lock) free(ctx context.Context, r *round, locks []*redislock.Lock) {
	r.stays = true
	r.ask = func(i int) answer {
		return l.heard(i, answerOf(locks[i].Release(r.ctx)), r.want)
	}
	r.begin(ctx)
}

// discard releases what the nodes have of a lock that nobody gets, because so it came out of the round
// of its Obtain. It waits for those nodes that were the first majority to answer that: most likely they
// are as quick again. Who is slower, or has not answered at all, is in nobody's way who has these.
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
	l.free(pace.GivingBack(ctx), r, locks)
	r.wait(ctx, grace)
}

// raise makes the greatest number that a node has given that of the lock at every node. A majority
// has to have it: then every later lock finds it at one of its nodes.
func (l *Lock) raise(ctx context.Context) *refusal {
	r, locks, w, ok := l.newRound(0)
	if !ok {
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
