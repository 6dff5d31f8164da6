package quorum

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
)

// This file tells the hooks of a Client. Nothing is done for a hook that is nil.

type hook = func(context.Context, redislock.Event)

// told is what an event says of an operation on a lock, beside what the lock knows.
type told struct {
	attempts int
	kept     time.Duration
	expires  time.Time
	ended    bool
	err      error
}

// report tells a hook how an operation on a lock has ended. It is not to be called with mu held.
func (l *Lock) report(ctx context.Context, tell hook, began clock.Moment, what told) {
	if tell == nil {
		return
	}
	at := clock.Now()
	e := redislock.Event{
		ID: l.want.id, Keys: l.Keys(), Mode: l.want.mode(), Name: l.want.opt.Name, Fence: l.number,
		Expires: what.expires, Ended: what.ended,
		Duration: at.Since(began), Attempts: what.attempts, Kept: what.kept, Err: what.err,
	}
	if !l.attached {
		e.Way, e.Held = l.want.way(), at.Since(l.obtained)
	}
	tell(ctx, e)
}

// report tells a hook how far an Obtain is, and how long it has taken since began.
func (o *obtaining) report(ctx context.Context, tell hook, began clock.Moment, err error) {
	if tell != nil {
		tell(ctx, o.event(began, err))
	}
}

// reportObtained tells the hook of the lock.
func (o *obtaining) reportObtained(ctx context.Context, lock *Lock) {
	if tell := o.quorum.hooks.Obtained; tell != nil {
		e := o.event(o.began, nil)
		e.Fence, e.Expires = lock.Fence(), lock.expires()
		tell(ctx, e)
	}
}

// event makes an event that has lasted since began.
func (o *obtaining) event(began clock.Moment, err error) redislock.Event {
	if o.keys == nil {
		o.keys = o.want.keys()
	}
	return redislock.Event{
		ID: o.want.id, Keys: o.keys, Mode: o.want.mode(), Name: o.want.opt.Name, Way: o.want.way(),
		Duration: clock.Now().Since(began), Attempts: o.asked, Err: err,
	}
}

// expires is when the lock ends by itself; zero if its watchdog renews it.
func (l *Lock) expires() time.Time {
	if l.want.opt.Watchdog || l.gone.Load() {
		return time.Time{}
	}
	return l.Deadline()
}

// announce takes note that the hooks were told of the lock, and tells them if it was lost meanwhile.
func (l *Lock) announce() {
	l.mu.Lock()
	l.announced = true
	isLost, why := l.state == lost, l.why
	l.mu.Unlock()
	if isLost {
		l.report(context.Background(), l.quorum.hooks.Lost, clock.Now(), told{ended: true, err: why})
	}
}

// begins tells of the first wait, and why there is one.
func (o *obtaining) begins(ctx context.Context, why error) {
	hooks := &o.quorum.hooks
	if hooks.Waiting == nil && hooks.Waited == nil || o.waits != (clock.Moment{}) {
		return
	}
	o.waits = clock.Now()
	o.report(ctx, hooks.Waiting, o.began, o.failed(why))
}

// ends tells how an Obtain has ended.
func (o *obtaining) ends(ctx context.Context, lock *Lock, err error) {
	hooks := &o.quorum.hooks
	if o.waits != (clock.Moment{}) {
		o.report(ctx, hooks.Waited, o.waits, err)
	}
	switch {
	case err == nil:
		o.reportObtained(ctx, lock)
	case hooks.Refused != nil:
		if e, ok := errors.AsType[*refusal](err); !ok || !e.bad {
			o.report(ctx, hooks.Refused, o.began, err)
		}
	}
}

// way is how its Obtain waits, if it has to.
func (w *want) way() string {
	if w.opt.RetryStrategy == nil {
		return "once"
	}
	return "poll"
}

// mode is the mode of the whole set.
func (w *want) mode() redislock.Mode {
	if len(w.set.Write) > 0 {
		return redislock.ModeWrite
	}
	return redislock.ModeRead
}

// keys returns the set as its lock does.
func (w *want) keys() []string {
	all := slices.Concat(w.set.Write, w.set.Read)
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(all, func(key string) bool {
		again := seen[key]
		seen[key] = true
		return again
	})
}
