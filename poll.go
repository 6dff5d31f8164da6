package redislock

import (
	"context"
	"errors"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// This file is an Obtain that asks again every now and then. Those of one Client that poll for the same set ask in place of one
// another, and a Release of the Client can give its keys to one of them: see package local.

// poll asks until the lock is there, or the strategy or the context ends.
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
	return !o.alone && !w.queues && !w.declares && w.set.reads() == 0 && !o.left.keys() && o.pace.GoesOn()
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
	since, timer := clock.Now(), o.pace.Timer(wait)
	defer timer.Stop()
	for {
		lock, due, err := o.listenHere(ctx, timer.C)
		if !due {
			return lock, err
		}
		if o.client.local.Due(o.behind, since) {
			continue
		}
		if wait = o.refusedLikeAnother(); wait < 0 {
			if lock, err := o.quitHere(ctx); lock != nil || err != nil {
				return lock, err
			}
			return nil, o.pace.Stopped(o.asked.last)
		}
		since = clock.Now()
		o.pace.Timer(wait)
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
