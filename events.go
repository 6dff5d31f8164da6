package redislock

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/shown"
)

// This file is what others are told of a lock: in prints and logs, and by hooks.

// String says what the lock holds, and for how much longer it is certain. It never has the token.
func (l *Lock) String() string { return l.shown().String() }

// GoString is String for the verb %#v.
func (l *Lock) GoString() string { return "*redislock.Lock(" + l.String() + ")" }

// LogValue is String in fields, for a log of package slog.
func (l *Lock) LogValue() slog.Value { return l.shown().LogValue() }

func (l *Lock) shown() shown.Lock {
	if l.isNothing() {
		return shown.Lock{}
	}
	l.mu.Lock()
	set, state, its := l.set, l.state, l.lease
	l.mu.Unlock()
	keys := set.shown()
	of := shown.Lock{Write: keys[:set.write], Read: keys[set.write:], Until: its.Deadline.Time()}
	if its.Obtained == (clock.Moment{}) {
		of = shown.Lock{Unknown: keys, Until: of.Until}
	}
	switch state {
	case released, passedOn:
		of.Ended = "released"
	case lost:
		of.Ended = "lost"
	}
	return of
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
func (l *Lock) reportReleased(ctx context.Context, set keySet, keep, began clock.Moment, asked int, err error) {
	hook := l.client.hooks.Released
	if hook == nil {
		return
	}
	e := l.event(set, began, asked, err)
	if asked > 0 && !errors.Is(err, ErrLockNotHeld) {
		e.Kept = began.Until(keep)
	}
	hook(ctx, e)
}

// event makes the event of an operation on some of the lock.
func (l *Lock) event(set keySet, began clock.Moment, attempts int, err error) Event {
	e := l.label.event(set, began, attempts, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if began := l.lease.Obtained; began != (clock.Moment{}) {
		e.Held = clock.Now().Since(began)
	}
	e.Fence, e.Ended = l.numbers.First, l.state != held
	return e
}

// expires is when the lock ends by itself; zero if it has ended, or if its watchdog keeps it from ending.
func (l *Lock) expires() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != held || l.watch != nil && l.watch.renews {
		return time.Time{}
	}
	return l.lease.Deadline.Time()
}

// announce notes that the hooks were told of the lock, and tells them if it was lost meanwhile.
func (l *Lock) announce() {
	l.mu.Lock()
	l.label.announced = true
	isLost, why := l.state == lost, l.why
	l.mu.Unlock()
	if isLost {
		l.report(context.Background(), l.client.hooks.Lost, clock.Now(), 0, why)
	}
}
