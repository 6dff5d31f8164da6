package redislock

import (
	"context"
	"errors"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/serial"
)

// This file is what hooks are told, and when. Without hooks nothing is measured for it.

// A label is what all events of one Obtain, and of its lock, have in common.
type label struct {
	id   uint64
	name string // Options.Name
	way  string
}

// newLabel makes the label of a lock: an empty one if there are no hooks.
func (c *Client) newLabel(opt *Options) label {
	switch {
	case !c.hooks.any():
		return label{}
	case opt == nil:
		return label{id: serial.Next()}
	}
	return label{serial.Next(), opt.Name, wayOf(opt)}
}

// wayOf says how an Obtain with these options waits.
func wayOf(opt *Options) string {
	switch {
	case opt.Queue:
		return "queue"
	case strategyOf(opt) != nil:
		return "poll"
	}
	return "once"
}

// event makes the event of an operation on a set, which ends at this moment.
func (l label) event(set keySet, began clock.Moment, attempts int, err error) Event {
	return Event{
		ID: l.id, Keys: set.shown(), Mode: set.mode(), Name: l.name, Way: l.way,
		Duration: clock.Now().Since(began), Attempts: attempts, Err: err,
	}
}

// report tells a hook how an operation on the whole lock ended.
func (l *Lock) report(ctx context.Context, hook func(context.Context, Event), began clock.Moment, attempts int, err error) {
	if hook != nil {
		hook(ctx, l.event(l.snapshot(), began, attempts, err))
	}
}

// reportRefreshed tells the hook how a Refresh or a renewal has ended.
func (l *Lock) reportRefreshed(ctx context.Context, began clock.Moment, err error) {
	if hook := l.client.hooks.Refreshed; hook != nil {
		e := l.event(l.snapshot(), began, 1, err)
		e.Expires = l.expires()
		hook(ctx, e)
	}
}

// reportReleased tells the hook how a Release of a part has ended, whether it has asked Redis or not.
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
	e.Fence, e.Ended = l.number, l.state != held
	return e
}

// expires is when the lock ends by itself; zero if it has ended, or if its watchdog keeps it from ending.
func (l *Lock) expires() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != held || l.watch != nil && l.watch.renews || l.deadline == (clock.Moment{}) {
		return time.Time{}
	}
	return l.deadline.Time()
}

// announce notes that the hooks were told of the lock, and tells them if it was lost meanwhile.
func (l *Lock) announce() {
	l.mu.Lock()
	l.announced = true
	isLost, why := l.state == lost, l.why
	l.mu.Unlock()
	if isLost {
		l.report(context.Background(), l.client.hooks.Lost, clock.Now(), 0, why)
	}
}

// beginsToWait tells the hooks, the first time it is called, that there is to be another attempt.
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

// event makes the event of what an Obtain has done since then.
func (o *obtaining) event(since clock.Moment, err error) Event {
	return o.lock.label.event(o.want.set, since, o.asked.count, err)
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
	if o.waits != (clock.Moment{}) && client.hooks.Waited != nil {
		client.hooks.Waited(o.caller, o.event(o.waits, err))
	}
	if hook != nil {
		e := o.event(o.asked.began, err)
		if err == nil {
			e.Fence, e.Expires = o.lock.Fence(), o.lock.expires()
		}
		hook(o.caller, e)
	}
}
