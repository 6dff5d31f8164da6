package quorum

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
)

// This file is what the hooks of a Client are told. Nothing of it is done for a hook that is nil.

type hook = func(context.Context, redislock.Event)

// told is what there is to say of an operation on a lock, beside what the lock knows.
type told struct {
	attempts int
	kept     time.Duration
	err      error
}

// report tells a hook how an operation on a lock has ended. It is not to be called with mu held.
func (l *Lock) report(ctx context.Context, tell hook, began clock.Moment, what told) {
	if tell == nil {
		return
	}
	at := clock.Now()
	e := redislock.Event{
		Keys: l.Keys(), Mode: l.want.mode(), Name: l.want.opt.Name,
		Duration: at.Since(began), Attempts: what.attempts, Kept: what.kept, Err: what.err,
	}
	if !l.attached {
		e.Way, e.Held = l.want.way(), at.Since(l.obtained)
	}
	tell(ctx, e)
}

// report tells a hook how far an Obtain is, which has taken so long since then.
func (o *obtaining) report(ctx context.Context, tell hook, began clock.Moment, err error) {
	if tell == nil {
		return
	}
	if o.keys == nil {
		o.keys = o.want.keys()
	}
	tell(ctx, redislock.Event{
		Keys: o.keys, Mode: o.want.mode(), Name: o.want.opt.Name, Way: o.want.way(),
		Duration: clock.Now().Since(began), Attempts: o.asked, Err: err,
	})
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
func (o *obtaining) ends(ctx context.Context, err error) {
	hooks := &o.quorum.hooks
	if o.waits != (clock.Moment{}) {
		o.report(ctx, hooks.Waited, o.waits, err)
	}
	switch {
	case err == nil:
		o.report(ctx, hooks.Obtained, o.began, nil)
	case hooks.Refused != nil:
		if e, ok := errors.AsType[*refusal](err); !ok || !e.bad {
			o.report(ctx, hooks.Refused, o.began, err)
		}
	}
}

// way is how its Obtain waits, if it has to.
func (w *want) way() redislock.Way {
	if w.opt.RetryStrategy == nil {
		return redislock.WayOnce
	}
	return redislock.WayPoll
}

// mode is that of the whole set.
func (w *want) mode() redislock.Mode {
	if len(w.write) > 0 {
		return redislock.ModeWrite
	}
	return redislock.ModeRead
}

// keys returns the set as its lock does.
func (w *want) keys() []string {
	all := slices.Concat(w.write, w.read)
	seen := make(map[string]bool, len(all))
	return slices.DeleteFunc(all, func(key string) bool {
		again := seen[key]
		seen[key] = true
		return again
	})
}
