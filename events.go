package redislock

import (
	"context"
	"errors"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// This file is what hooks are told, and when. Without hooks nothing is measured for it.

// A label is what all events of one Obtain, and of the lock that comes of it, say alike.
type label struct {
	name string // Options.Name
	way  Way
}

// wayOf says how an Obtain with these options waits.
func wayOf(opt *Options) Way {
	switch {
	case opt.Queue:
		return WayQueue
	case opt.RetryStrategy != nil:
		return WayPoll
	}
	return WayOnce
}

// event makes the event of an operation on a set, which ends at this moment.
func (l label) event(set keySet, began clock.Moment, attempts int, err error) Event {
	return Event{
		Keys: set.shown(), Mode: set.mode(), Name: l.name, Way: l.way,
		Duration: clock.Now().Since(began), Attempts: attempts, Err: err,
	}
}

// report tells a hook how an operation on the whole lock ended.
func (l *Lock) report(ctx context.Context, hook func(context.Context, Event), began clock.Moment, attempts int, err error) {
	if hook != nil {
		l.notify(ctx, hook, l.snapshot(), began, attempts, err)
	}
}

// notify tells a hook how an operation on some of it ended.
func (l *Lock) notify(ctx context.Context, hook func(context.Context, Event), set keySet, began clock.Moment, attempts int, err error) {
	if hook != nil {
		hook(ctx, l.event(set, began, attempts, err))
	}
}

// reportReleased tells the hook how a Release of a part has ended, which has asked Redis or not.
func (l *Lock) reportReleased(ctx context.Context, p part, began clock.Moment, asked int, err error) {
	hook := l.client.hooks.Released
	if hook == nil {
		return
	}
	e := l.event(p.set, began, asked, err)
	if asked > 0 && !errors.Is(err, ErrLockNotHeld) {
		e.Kept = began.Until(p.keep)
	}
	hook(ctx, e)
}

// event makes the event of an operation on some of the lock.
func (l *Lock) event(set keySet, began clock.Moment, attempts int, err error) Event {
	e := l.label.event(set, began, attempts, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.obtained != (clock.Moment{}) {
		e.Held = clock.Now().Since(l.obtained)
	}
	return e
}

// beginsToWait tells the hooks that there is to be another attempt, the first time that it is called.
func (o *obtaining) beginsToWait(ctx context.Context) {
	pace.Waits(o.caller, o.asked.last) // if it is a step of another one
	hooks := &o.client.hooks
	if hooks.Waiting == nil && hooks.Waited == nil || o.waits != (clock.Moment{}) {
		return
	}
	if ctx.Err() != nil || o.client.closed.Load() {
		return // there is to be none
	}
	o.waits = clock.Now()
	if hooks.Waiting != nil {
		hooks.Waiting(o.caller, o.event(o.asked.began, o.asked.last))
	}
}

// event makes the event of what has gone on in an Obtain since then.
func (o *obtaining) event(since clock.Moment, err error) Event {
	return o.lock.label.event(o.want.set, since, o.asked.count, err)
}

// report tells the log and the hooks how the obtaining ended.
func (o *obtaining) report(err error) {
	client := o.client
	if errors.Is(err, ErrUnknownOutcome) {
		client.log.WarnContext(o.caller, "redislock: outcome of obtain is not known, clearing up",
			o.want.set.logged(), "error", err)
	}
	hook := client.hooks.Obtained
	if err != nil {
		hook = client.hooks.Refused
	}
	if o.waits != (clock.Moment{}) && client.hooks.Waited != nil {
		client.hooks.Waited(o.caller, o.event(o.waits, err))
	}
	if hook != nil {
		hook(o.caller, o.event(o.asked.began, err))
	}
}
