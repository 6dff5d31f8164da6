package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/lease"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/shown"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// This file is one attempt of an obtaining: what it asks for, and what it makes of the answer.

// intentGrace is by how much an intent outlives the wait of the writer that declares it.
const intentGrace = time.Second

// noIntent is the life of the intents of an Obtain that declares none, or will not ask again.
const noIntent time.Duration = 0

// intentLife is how long the intents of an Obtain last if it waits for this time after a refusal. If wait is negative
// it does not ask again.
func (w *want) intentLife(wait time.Duration) time.Duration {
	if !w.declares || wait < 0 {
		return noIntent
	}
	return min(wait, maxTTL) + intentGrace
}

// ask asks once. If a request of another lock of the token has overtaken this one, it asks again, behind that.
func (o *obtaining) ask(ctx context.Context, intent time.Duration) (*Lock, error) {
	o.asked.count++
	for rounds := 0; ; rounds++ {
		r, end := o.first.call, o.first.end
		if o.first = (sent{}); r == nil {
			r = o.call(ctx, intent)
			end = o.send(ctx, r)
		}
		if err := o.gone(ctx, r, end); err != nil {
			return nil, err
		}
		if !r.isOvertaken() || rounds == mostOvertaken {
			return o.take(ctx, r, intent)
		}
		if err := o.over(ctx); err != nil {
			return nil, err
		}
	}
}

// call prepares the request for the set.
func (o *obtaining) call(ctx context.Context, intent time.Duration) *call {
	w, s := &o.want, o.line
	if intent != noIntent {
		o.left.intents = true
	}
	q := proto.Obtain{
		Set: w.set.Set, Value: &w.value, TTL: w.ttl, MinUptime: o.client.minUptime, Fresh: w.fresh,
		Intents: w.intents, Declares: w.declares, Intent: intent,
		Block: o.client.local.NeedsBlock(o.behind),
	}
	queues := s != nil && (s.subscribed || s.place.IsPossible())
	if queues {
		q.Waiter = &proto.Waiter{
			ID: s.waiter.ID, Place: s.place, Age: clock.Now().Mono - o.asked.began.Mono, Channel: s.waiter.Channel, Sharded: s.sharded,
		}
	}
	c := o.client.newCall()
	q.Fill(&c.run)
	c.begins(ctx)
	// An Obtain that was refused will most likely be refused again, and wants to know by whom.
	c.Plain = c.run.IsPlain() && (queues && !s.waiter.Others() || !queues && o.asked.conflict == nil)
	if queues && s.place.IsPossible() {
		c.WaitForSlot = -1 // it asks again by itself, and hears its channel meanwhile
	}
	// Nobody else knows the token, so it holds nothing yet: what refuses it refuses every such token. If several want
	// to write a key at most one of them gets it, so it is worth asking for one of them first.
	c.Alike = !w.queues && !w.tokenKnown && !w.declares && w.set.Reads() == 0
	c.Repeats = !w.queues && o.asked.conflict != nil
	c.Replicas = replicasFor(o.client.replicas, w.ttl)
	return c
}

// send sends a call, and waits for the outcome.
func (o *obtaining) send(ctx context.Context, r *call) wire.End {
	conn, w := o.client.conn, &o.want
	a := &o.lock().asker
	r.isOf(a, cmp.Or(o.owner, a.owner.Load()))
	if o.claim != nil && w.set.Reads() > 0 {
		r.readsSince(o.claim)
	}
	o.asked.silent = false // that was the attempt before
	return conn.Send(ctx, &r.Call, conn.Bound(w.ttl, len(w.set.Keys)), o.asked.patience())
}

// gone abandons a call if it has no outcome, and returns why.
func (o *obtaining) gone(ctx context.Context, r *call, end wire.End) error {
	w := &o.want
	if r.Gone != (clock.Moment{}) && o.asked.ended == (clock.Moment{}) {
		o.asked.ended = r.Gone
	}
	o.asked.silent = end == wire.Silent || r.Silent
	settled := end == wire.Settled || !r.Abandon(nil) // perhaps the outcome has come in this very moment
	if settled && (ctx.Err() == nil || !errors.Is(r.Err, wire.ErrNotSent)) {
		return nil
	}
	if !settled || r.IsUnanswered() {
		o.noteUnanswered() // the next call, or the clean-up, closes what this one may still do
	}
	if end == wire.Silent {
		return o.asked.andBefore(r, fmt.Errorf("redislock: obtain %s: %w: no answer for %s: %w",
			w.set, ErrUnknownOutcome, shown.Duration(clock.Now().Since(o.asked.began)), os.ErrDeadlineExceeded))
	}
	return &endedError{o.asked.andBefore(r, fmt.Errorf("redislock: obtain %s: %w: %w after %s",
		w.set, ErrUnknownOutcome, context.Cause(ctx), o.asked.spent()))}
}

// andBefore adds to the error of a call why the try before it failed, if that was no refusal. That error says what is
// wrong with the server, for example that it takes no connections.
func (a *attempts) andBefore(r *call, err error) error {
	var before error
	if failed := r.Failed(); failed != nil {
		before = wire.Legible(failed)
	} else if !errors.Is(a.last, ErrNotObtained) {
		before = a.last
	}
	if before == nil {
		return err
	}
	return fmt.Errorf("%w; before that: %w", err, before)
}

// take handles the outcome of a call.
func (o *obtaining) take(ctx context.Context, r *call, intent time.Duration) (*Lock, error) {
	if r.IsUnanswered() || r.Err != nil && wire.Classify(r.Err) == wire.Unknown {
		o.noteUnanswered()
	}
	if r.Err != nil {
		return nil, o.failed(ctx, r)
	}
	a, err := r.run.Answer(r.Reply)
	switch {
	case err != nil:
	case a.Code == proto.Overtaken: // resend and again: it would ask for ever
		err = r.garbled()
	case a.Code == proto.Done && r.short() != nil:
		o.left.unused = true // replicas do not have it: after a fail-over somebody else might get it as well
		return nil, fmt.Errorf("redislock: obtain %s: %w: %w", o.want.set, ErrNotObtained, r.short())
	case a.Code == proto.Done:
		sent := r.Sent
		o.client.recycle(r)
		return o.obtained(sent, a.Numbers)
	default:
		conflict := newConflict(&a.Conflict, o.want.set.cut)
		o.refused(r.Sent, &a, conflict, intent)
		o.client.recycle(r)
		return nil, o.inOwnWay(conflict)
	}
	o.noteUnanswered() // a server that answers so may have done anything
	return nil, fmt.Errorf("redislock: obtain %s: %w: %w", o.want.set, ErrUnknownOutcome, err)
}

// failed takes in the error of a call.
func (o *obtaining) failed(ctx context.Context, r *call) error {
	runsNothing := redis.HasErrorPrefix(r.Err, "CROSSSLOT") || wire.ForbidsScripts(r.Err)
	if wire.Classify(r.Err) == wire.Final && !runsNothing {
		o.left.wrotePartly = true // for example, the user lacks a right for a command that stands behind others
	}
	cut := r.Cut != nil
	r.Cut = nil
	err := about("obtain", o.want.set, r.fault(false)) // it gives back what it has done
	if !cut {
		return err
	}
	o.asked.last = err
	return o.contextEnded(ctx)
}

// refused takes in a refusal, and the place in line that may have come with it.
func (o *obtaining) refused(sent clock.Moment, a *proto.Answer, conflict *ConflictError, intent time.Duration) {
	o.asked.conflict = conflict
	o.left.intents = intent != noIntent
	if o.line == nil {
		return
	}
	if a.Code == proto.InLine {
		o.line.stands(sent, a)
	}
	if conflict.Mode == ModeRestarted {
		o.line.askIn = conflict.TTL + clock.AfterEnd
	}
}

// obtained makes the lock, unless the answer came too late for it or for the caller. If only the time of Options.Wait
// is over, that is no reason to give the lock back.
func (o *obtaining) obtained(sent clock.Moment, numbers proto.Numbers) (*Lock, error) {
	w := &o.want
	begun := lease.Begin(sent, w.ttl)
	if at := clock.Now(); at.Reached(begun.Deadline) {
		// The way to the server takes too long, or this process was paused. The lease may be over already, and somebody
		// else may have the lock.
		o.left.unused = true
		err := fmt.Errorf("redislock: obtain %s: %w: the answer took %s, which leaves nothing of a ttl of %s; the keys are given back",
			w.set, ErrNotObtained, shown.Duration(at.Since(sent)), w.ttl)
		if o.line != nil && o.line.mayBeTooLate() {
			return nil, err
		}
		return nil, &endedError{err}
	}
	if o.caller.Err() != nil {
		o.left.unused = true
		o.asked.last = ErrNotObtained // it is given back
		return nil, o.contextEnded(o.caller)
	}
	l := o.lock()
	l.mu.Lock()
	l.set, l.lease, l.numbers = w.set, begun, numbers
	if w.holdAtLeast > 0 {
		l.keep = clock.Now().Add(w.holdAtLeast) // by now it is certain to have begun
	}
	if w.watchdog {
		l.watchLocked(true)
	}
	if w.pending {
		l.planLocked(clock.Now()) // at once
	}
	l.mu.Unlock()
	return l, nil
}

// inOwnWay returns a conflict. The conflict ends the Obtain if that would wait for a lock under which it runs: its own
// context ends with that lock. That is certain if no other caller can know the token of either, and if the Obtain is no
// step of a larger one, which may go on without these keys.
func (o *obtaining) inOwnWay(conflict *ConflictError) error {
	if o.want.tokenKnown || o.caller.Done() == nil || pace.IsStep(o.caller) || wire.IsStaying(o.caller) {
		return conflict
	}
	for l := range inctx.Each(o.caller) {
		if l, is := l.(*Lock); is && l.keepsFrom(o) {
			conflict.Own = true
			return &endedError{conflict}
		}
	}
	return conflict
}

// keepsFrom reports whether the lock is held, and it alone keeps an Obtain of the same Client from one of its keys.
func (l *Lock) keepsFrom(o *obtaining) bool {
	if l.isNothing() || l.client != o.client {
		return false
	}
	l.mu.Lock()
	mine, certain := l.set, l.state == held && !l.tokenKnown.Load()
	l.mu.Unlock()
	if !certain {
		return false
	}
	writes := make(map[string]bool, len(mine.Keys)) // by its keys
	for i, key := range mine.Keys {
		writes[key] = i < mine.Writes
	}
	for i, key := range o.want.set.Keys {
		if write, is := writes[key]; is && (write || i < o.want.set.Writes) {
			return true
		}
	}
	return false
}
