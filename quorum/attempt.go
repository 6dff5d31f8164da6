package quorum

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// attempt asks all nodes once, until asking ends, a context derived from ctx. If too few nodes grant the lock
// everything is released.
func (o *obtaining) attempt(ctx, asking context.Context) (*Lock, *refusal) {
	c, w := o.quorum, &o.want
	l := &Lock{quorum: c, want: *w, holds: make([]hold, len(c.nodes)), obtained: clock.Now()}
	r := c.newRound(w, l)
	began := time.Now()
	r.stays = true
	r.ask = func(i int) answer {
		n, pass := c.nodes[i], &r.errands[i].pass
		if pass.owed != nil {
			settled := pass.owed.settle(r.ctx)
			late := time.Since(began) > w.patience/2 // it is not to be suspected because it was asked late
			if !settled || late || r.isOver() && l.ended() {
				return n.skip(*pass, errBehind, w)
			}
		}
		return n.obtain(r.ctx, *pass, w)
	}
	r.late = func(i int, a answer) {
		if err := l.joined(r.ctx, i, a); err != nil && a.lock != nil {
			_ = a.lock.Release(stay(pace.GivingBack(r.ctx), w.patience))
		}
	}
	admit(r)

	l.mu.Lock() // a late answer learns first what has become of the others
	r.begin(ctx)
	select {
	case <-r.ended:
	case <-asking.Done():
		r.cancel(context.Cause(asking)) // nodes that were asked answer soon, and give back what they got
		r.wait(asking, 2*grace)
	}
	l.adoptLocked(r)
	l.mu.Unlock()

	failed := r.refused()
	if failed == nil && w.opt.Fenced {
		failed = l.raise(ctx)
	}
	if failed == nil {
		failed = o.tooLate(ctx, r, l)
	}
	if failed == nil && l.give(o.holdAtLeast) {
		return l, nil
	}
	if failed == nil {
		failed = lostBefore("it was returned")
	}
	l.discard(asking, r)
	return nil, failed
}

// admit enters the nodes into a round. Nodes that are suspected, and tried already, are entered
// only if the others cannot be enough.
func admit(r *round) {
	for i, n := range r.quorum.nodes {
		pass := &r.errands[i].pass
		*pass = n.admit(r.want)
		pass.owed = n.owed(r.want)
		if pass.busy == nil {
			r.enter(i, pass.well)
		}
	}
	enough := r.hopes >= r.need
	for i := range r.errands {
		switch {
		case r.errands[i].pass.busy == nil:
		case enough:
			r.answers[i] = answer{kind: failed, err: errSuspect, again: true}
		default:
			r.enter(i, false)
		}
	}
}

// lostBefore says that a majority had granted the lock, and lost it before something was done: the lock was never
// returned.
func lostBefore(what string) *refusal {
	return &refusal{text: "lost before " + what, is: []error{redislock.ErrNotObtained}, again: true, free: pace.Stop}
}

// tooLate reports why a lock that a majority has granted is not to be returned.
func (o *obtaining) tooLate(ctx context.Context, r *round, l *Lock) *refusal {
	if ctx.Err() != nil {
		return &refusal{
			text: "released, because the context has ended",
			is:   []error{redislock.ErrNotObtained, context.Cause(ctx)},
		}
	}
	if deadline := l.Deadline(); !time.Now().Before(deadline) {
		return &refusal{
			text:  fmt.Sprintf("the time that %s took to answer has left nothing of a ttl of %s; the keys are given back", count.Of(r.yes, "node"), o.want.ttl),
			is:    []error{redislock.ErrNotObtained},
			again: true, free: pace.Stop,
		}
	}
	return nil
}
