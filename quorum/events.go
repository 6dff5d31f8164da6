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
	if l.obtained != (clock.Moment{}) {
		e.Held = at.Since(l.obtained)
	}
	tell(ctx, e)
}

// report tells a hook how far an Obtain is.
func (o *obtaining) report(ctx context.Context, tell hook, err error) {
	if tell == nil {
		return
	}
	if o.keys == nil {
		o.keys = o.want.keys()
	}
	tell(ctx, redislock.Event{
		Keys: o.keys, Mode: o.want.mode(), Name: o.want.opt.Name, Way: o.way(),
		Duration: clock.Now().Since(o.began), Attempts: o.asked, Err: err,
	})
}

// begins tells of the first wait.
func (o *obtaining) begins(ctx context.Context) {
	if !o.waits {
		o.waits = true
		o.report(ctx, o.quorum.hooks.Waiting, nil)
	}
}

// ends tells how an Obtain has ended.
func (o *obtaining) ends(ctx context.Context, err error) {
	hooks := &o.quorum.hooks
	if o.waits {
		o.report(ctx, hooks.Waited, err)
	}
	switch bad, refused := errors.AsType[*refusal](err); {
	case err == nil:
		o.report(ctx, hooks.Obtained, nil)
	case !refused || !bad.bad:
		o.report(ctx, hooks.Refused, err)
	}
}

// way is how it waits, if it has to.
func (o *obtaining) way() redislock.Way {
	if o.want.opt.RetryStrategy == nil {
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
