package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/shown"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// This file says how far an Obtain is, when it gives up, and how one waits that asks again every now and then.

// attempts is how far one Obtain is.
type attempts struct {
	began    clock.Moment
	count    int32          // how often it has asked
	silent   bool           // nobody has answered the latest attempt
	conflict *ConflictError // the latest conflict
	last     error          // the error of the latest attempt
	ended    clock.Moment   // when it was seen that ctx has ended; zero: not yet
}

// over is the error of an Obtain that stops asking. However short its Wait is, it asks once.
func (o *obtaining) over(ctx context.Context) error {
	switch {
	case o.first.call != nil: // it has asked
	case o.caller.Err() != nil, ctx.Err() != nil && o.asked.count > 0:
		return o.contextEnded(ctx)
	case o.client.closed.Load():
		return &endedError{fmt.Errorf("redislock: obtain %s: %w", o.want.set, wire.ErrClosed)}
	}
	return nil
}

// isLast reports whether it is no use to ask again after an error.
func isLast(err error) bool {
	_, ended := errors.AsType[*endedError](err)
	return ended || !errors.Is(err, ErrNotObtained) && wire.Classify(err) == wire.Final
}

// inTheWayFor is how long the holder that is in the way may stay there; negative if nobody knows.
func (a *attempts) inTheWayFor() time.Duration {
	if conflict, ok := errors.AsType[*ConflictError](a.last); ok {
		return conflict.TTL
	}
	return -1
}

// patience is how much longer an Obtain may take if its ctx has ended. If ctx has not ended, it is how long the Obtain
// waits for the answer to its clean-up.
func (a *attempts) patience() time.Duration {
	switch {
	case a.ended != (clock.Moment{}):
		return clock.Now().Until(a.ended.Add(patience))
	case a.silent:
		return 0 // it has waited for that server long enough
	}
	return patience
}

// spent says how long the Obtain has taken so far, and how many attempts.
func (a *attempts) spent() string {
	return fmt.Sprintf("%s and %s", shown.Duration(clock.Now().Since(a.began)), count.Of(int(a.count), "attempt"))
}

// contextEnded is the error of an Obtain if its context has ended. It says why the Obtain had not succeeded before:
// that the outcome is not known; or the latest conflict, if there was one, and what has failed since.
func (o *obtaining) contextEnded(ctx context.Context) error {
	if o.asked.ended == (clock.Moment{}) {
		o.asked.ended = clock.Now()
	}
	why, conflict := o.asked.last, o.asked.conflict
	switch {
	case errors.Is(why, ErrUnknownOutcome), errors.Is(why, ErrNotReplicated):
	case conflict != nil && why != nil && !errors.Is(why, ErrNotObtained):
		why = fmt.Errorf("%w; then: %w", conflict, why)
	case conflict != nil:
		why = conflict
	case why == nil:
		why = ErrNotObtained
	}
	return &endedError{fmt.Errorf("redislock: obtain %s: %w after %s: %w",
		o.want.set, context.Cause(ctx), o.asked.spent(), why)}
}

// beginsToWait tells the hooks, the first time it is called, that there is to be another attempt.
func (o *obtaining) beginsToWait(ctx context.Context) {
	pace.Waits(o.caller, o.asked.last) // if it is a step of another one
	hooks := &o.client.hooks
	if hooks.Waiting == nil && hooks.Waited == nil || o.label.waits != (clock.Moment{}) {
		return
	}
	if ctx.Err() != nil || o.client.closed.Load() {
		return // there is to be none
	}
	o.label.waits = clock.Now()
	if hooks.Waiting != nil {
		hooks.Waiting(o.caller, o.event(o.asked.began, o.asked.last))
	}
}

// event makes the event of what an Obtain has done since then.
func (o *obtaining) event(since clock.Moment, err error) Event {
	return o.label.event(o.want.set, since, int(o.asked.count), err)
}

// report tells the log and the hooks how the obtaining ended.
func (o *obtaining) report(err error) {
	client := o.client
	if errors.Is(err, ErrUnknownOutcome) {
		client.log.WarnContext(o.caller, "redislock: outcome of obtain is not known, clearing up",
			o.want.set.logged("error", err)...)
	}
	hook := client.hooks.Obtained
	if err != nil {
		hook = client.hooks.Refused
	}
	if client.hooks.Waited != nil && o.label.waits != (clock.Moment{}) {
		client.hooks.Waited(o.caller, o.event(o.label.waits, err))
	}
	if hook != nil {
		e := o.event(o.asked.began, err)
		if err == nil {
			e.Fence, e.Expires = o.made.Fence(), o.made.expires()
		}
		hook(o.caller, e)
	}
}

// poll asks until the lock is there, or the strategy or the context ends. Those of one Client that poll for the same set ask in
// place of one another, and a Release of the Client can give its keys to one of them: see package local.
func (o *obtaining) poll(ctx context.Context) (*Lock, error) {
	for {
		if err := o.over(ctx); err != nil {
			return nil, err
		}
		wait := pace.Stop
		if o.want.declares {
			wait = o.pace.Next() // before it asks, because an intent has to last as long
		}
		if !o.isRefusedHere() {
			asked := clock.Now()
			lock, err := o.ask(ctx, o.want.intentLife(wait))
			if err == nil {
				return lock, nil
			}
			o.asked.last = err
			if isLast(err) {
				return nil, err
			}
			o.rests(asked)
		}
		if !o.want.declares {
			wait = o.pace.Next()
		}
		if wait < 0 {
			return nil, o.pace.Stopped(o.asked.last)
		}
		o.beginsToWait(ctx)
		wait = pace.Cut(wait, o.asked.inTheWayFor())
		if o.behind == nil {
			o.pace.Sleep(ctx, wait)
		} else if lock, err := o.restBeside(ctx, wait); lock != nil || err != nil {
			return lock, err
		}
	}
}

// isRefusedHere reports whether an obtaining need not ask at first, because another lock of its Client has the keys. That
// counts as an attempt.
func (o *obtaining) isRefusedHere() bool {
	if o.asked.count > 0 || o.first.call != nil || !o.client.local.Polled() || !o.mayRest() || !o.joinBeside() {
		return false
	}
	o.asked.count++
	return true
}

// mayRest reports whether an obtaining may wait for others of its Client: it is to ask again, and it is certain that it has
// nothing of what it asks for.
func (o *obtaining) mayRest() bool {
	w := &o.want
	return !o.alone && !w.queues && !w.declares && w.set.Reads() == 0 && !o.left.keys() && o.pace.GoesOn()
}

// joinBeside has an obtaining join the others, unless it is one that asks by itself. It reports whether it is to wait.
func (o *obtaining) joinBeside() (waits bool) {
	if o.alone = !o.isLocal(); o.alone {
		return false
	}
	o.client.inLine.Add(1)
	return o.join(o.caller)
}

// rests has an obtaining that has asked at that moment, in vain, wait for others of its Client from now on.
func (o *obtaining) rests(asked clock.Moment) {
	refused := errors.Is(o.asked.last, ErrNotObtained) && o.mayRest()
	if refused && o.behind == nil {
		o.joinBeside()
	}
	switch {
	case o.behind == nil:
	case refused:
		o.client.local.Rests(o.behind, o.asked.conflict, asked)
	default:
		o.leaveHere(nil)
		o.behind, o.alone = nil, true
	}
}

// restBeside waits until an obtaining is to ask: it was told to, or nobody of its Client has asked for as long as its strategy
// waits. It returns the lock if a Release has given it that.
func (o *obtaining) restBeside(ctx context.Context, wait time.Duration) (*Lock, error) {
	for {
		since := clock.Now()
		lock, due, err := o.listenHere(ctx, o.pace.Timer(wait).C)
		if !due {
			return lock, err
		}
		if o.client.local.Due(o.behind, since) { // so it hears what it is told
			lock, _, err = o.listenHere(ctx, nil)
			return lock, err
		}
		if wait = o.refusedLikeAnother(); wait < 0 {
			if lock, err := o.quitHere(ctx); lock != nil || err != nil {
				return lock, err
			}
			return nil, o.pace.Stopped(o.asked.last)
		}
	}
}

// refusedLikeAnother takes in that an Obtain of the Client was refused for all. It returns how long to wait.
func (o *obtaining) refusedLikeAnother() time.Duration {
	o.asked.count++
	if conflict := o.conflictHere(); conflict != nil {
		o.asked.conflict, o.asked.last = conflict, conflict
	}
	return pace.Cut(o.pace.Next(), o.asked.inTheWayFor())
}
