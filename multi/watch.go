package multi

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/inctx"
)

type lockKey struct{}

// FromContext returns the lock under which a function runs: the lock of the innermost [With] or
// [Lock.Context] from which ctx is derived. It returns nil if there is none. A nil Lock can be asked: it
// has no keys and no parts. A lock that was released or lost meanwhile is returned as well.
//
// [redislock.FromContext] finds neither it nor the locks of its parts, but a lock further out that a
// [redislock.Client] has obtained.
func FromContext(ctx context.Context) *Lock {
	l, _ := ctx.Value(lockKey{}).(*Lock)
	return l
}

// Context returns a context derived from ctx that is cancelled with cause [redislock.ErrLockLost]
// when any part is lost, no later than the Deadline, and with [context.Canceled] when the lock is
// released. After a loss the other parts stay held until Release, and with a watchdog they are
// renewed. The context of a nil or zero Lock has ended already, with a [redislock.ErrLockNotHeld].
// [FromContext] finds the lock in the context.
func (l *Lock) Context(ctx context.Context) context.Context {
	if l.isNothing() {
		return inctx.Nobodys(ctx, lockKey{}, l, fmt.Errorf("multi: %w: no Obtain has returned it", redislock.ErrLockNotHeld))
	}
	if l.events.told().Lost != nil {
		l.watch()
	}
	return inctx.Over(ctx, l.join(ctx), lockKey{}, l) // the lock of a part must not be found
}

// join returns a context that ends with any part.
func (l *Lock) join(ctx context.Context) context.Context {
	if i := l.firstLost(); i >= 0 {
		return l.locks[i].Context(ctx) // whatever has become of the others
	}
	for _, lock := range l.locks {
		ctx = lock.Context(ctx) //nolint:fatcontext // derived once for each part: it ends with any of them
	}
	return ctx
}

// Lost returns a channel that is closed when any part is lost: see [Lock.Context]. A Release does
// not close it. The channel of a nil or zero Lock is never closed.
func (l *Lock) Lost() <-chan struct{} {
	if l.isNothing() {
		return make(chan struct{})
	}
	return l.watch()
}

// watch makes sure that a loss is told. It returns a channel that is closed then.
func (l *Lock) watch() <-chan struct{} {
	l.mu.Lock()
	lost, begun := l.lost, l.lost != nil
	if !begun {
		lost = make(chan struct{})
		l.lost = lost
	}
	l.mu.Unlock()
	if begun {
		return lost
	}
	held := l.join(context.Background())
	tell := func() {
		if why := context.Cause(held); errors.Is(why, redislock.ErrLockLost) {
			close(lost)
			l.tellLost(why)
		}
	}
	if held.Err() != nil {
		tell() // before it is asked
	} else {
		context.AfterFunc(held, tell)
	}
	return lost
}

// tellLost tells the hooks of a loss, once. If a Release finds the loss, only Released is told.
func (l *Lock) tellLost(why error) {
	hook := l.events.told().Lost
	if hook == nil {
		return
	}
	l.mu.Lock()
	first := !l.told && !l.ended
	l.told = true
	l.mu.Unlock()
	if !first {
		return
	}
	if !errors.Is(why, redislock.ErrLockLost) {
		why = fmt.Errorf("multi: %w: %w", redislock.ErrLockLost, why)
	} else if i := l.firstLost(); i >= 0 {
		why = fmt.Errorf("multi: %s: %w", name(l.parts, i), why)
	}
	l.events.tell(context.Background(), hook, redislock.Event{Held: l.events.since(l.since), Ended: true, Err: why})
}

// tellKnownLoss tells the hooks of a loss that is known, but perhaps was not told yet: a function that runs
// under the lock may return before.
func (l *Lock) tellKnownLoss() {
	l.mu.Lock()
	watched := l.lost != nil && !l.told && !l.ended
	l.mu.Unlock()
	if !watched || l.events.told().Lost == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if why := context.Cause(l.join(ctx)); errors.Is(why, redislock.ErrLockLost) {
		l.tellLost(why)
	}
}

// firstLost returns the index of the first part that is known to be lost; -1 if none is.
func (l *Lock) firstLost() int {
	return slices.IndexFunc(l.locks, func(lock *redislock.Lock) bool {
		select {
		case <-lock.Lost():
			return true
		default:
			return false
		}
	})
}
