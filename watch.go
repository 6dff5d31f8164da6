package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/internal/circle"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A watch tells the holder of a lock when it is lost, and renews the lease if the lock has a
// watchdog. Its fields are guarded by the mutex of the lock.
type watch struct {
	lock   *Lock
	entry  clock.Entry
	renews bool
	next   clock.Moment // of the renewal; zero if nothing renews
	failed error        // why the last renewal did not count; nil if it did
	lost   chan struct{}
	told   circle.Circle // the contexts
	hears  *hearing      // hears of Breaks; nil without WithBreakNotices
}

// FromContext returns the lock under which a function runs; nil if there is none. It is the lock of the innermost
// [Client.With] or [Lock.Context] from which ctx is derived. A nil Lock can be asked, and has no keys and no number.
// Locks of the other packages are found by their FromContext, and by package held.
func FromContext(ctx context.Context) *Lock {
	l, _ := ctx.Value(inctx.Root{}).(*Lock)
	return l
}

// Context returns a context derived from ctx that is cancelled when the lock is lost, with a cause that is an
// [ErrLockLost], or released, with [context.Canceled]. A lock is lost when Redis says so, or when its deadline
// comes before a renewal is confirmed. [FromContext] finds the lock in the context.
func (l *Lock) Context(ctx context.Context) context.Context {
	if l.isNothing() {
		return inctx.Nobodys(ctx, inctx.Root{}, l, l.usable())
	}
	ctx = inctx.With(ctx, inctx.Root{}, l)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case held:
		return l.watchLocked(false).told.Join(ctx)
	case lost:
		return inctx.Ended(ctx, causeOf(l.why))
	}
	return inctx.Ended(ctx, context.Canceled)
}

// Lost returns a channel that is closed when the lock is lost: see [Lock.Context].
func (l *Lock) Lost() <-chan struct{} {
	fresh := make(chan struct{})
	if l.isNothing() {
		return fresh
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case held:
		w := l.watchLocked(false)
		if w.lost == nil {
			w.lost = fresh
		}
		return w.lost
	case lost:
		close(fresh)
	}
	return fresh
}

// watchLocked makes sure that the lock is watched.
func (l *Lock) watchLocked(renews bool) *watch {
	if l.watch == nil {
		l.watch = &watch{lock: l, renews: renews}
		l.watch.entry.Task = l.watch
		l.planLocked(l.lease.Next(l.lease.Obtained))
	}
	return l.watch
}

// planLocked has the watch, if there is one, look at the lease in time. next is when its next renewal is due.
func (l *Lock) planLocked(next clock.Moment) {
	w := l.watch
	if w == nil || l.lease.Deadline == (clock.Moment{}) {
		return // attached and never refreshed: its lease is not known
	}
	if listen := l.client.listen; listen != nil && w.hears == nil && l.state == held {
		listen(w) // not before, because nothing would end it
	}
	if w.renews {
		w.next = next
	}
	due, early := l.lease.Look(w.next)
	if !l.client.schedule.Put(&w.entry, due, early) {
		go l.lose(wire.ErrClosed) // in a goroutine, because the lock's mutex is held
	}
}

// Run renews the lease or declares it lost.
func (w *watch) Run(at clock.Moment) {
	l := w.lock
	l.mu.Lock()
	if l.state != held {
		l.mu.Unlock()
		return
	}
	if at.Reached(l.lease.Alarm()) {
		why := errors.New("no renewal was confirmed before the deadline")
		if w.failed != nil { // as text: the lock is lost, whatever the outcome was
			why = fmt.Errorf("%w: %v", why, w.failed) //nolint:errorlint // see above
		}
		l.mu.Unlock()
		l.lose(why)
		return
	}
	var r *call
	due, next := l.lease.Due(at, w.next)
	if due {
		ttl, changes := l.lease.TTL, l.lease.Changes
		r = l.refreshing(context.Background(), l.set, ttl, true)
		r.isOf(&l.asker, l.owner.Load())
		r.Replicas = replicasFor(l.client.replicas, ttl)
		r.Then = func(*wire.Call) { w.renewed(r, ttl, changes) }
	}
	l.planLocked(next)
	l.mu.Unlock()
	if r != nil {
		l.client.conn.Start(&r.Call)
	}
}

// renewed handles the answer to a renewal. If a Refresh has changed something since it was sent, that stands.
func (w *watch) renewed(r *call, ttl time.Duration, changes int) {
	l := w.lock
	_, redo, err := l.verdict(r)
	l.mu.Lock()
	set, at := l.set, clock.Now()
	counts := l.state == held && !redo && !at.Reached(l.lease.Alarm())
	if err == nil && w.hears != nil {
		w.hears.notice = nil
	}
	switch {
	case l.state != held:
	case redo:
		l.planLocked(at) // the request that overtook it may have made the lease shorter
	case err != nil:
		err = about("renew", set, err)
		w.failed = err
	default:
		w.failed = nil
		if counts && l.lease.Renew(r.Sent, ttl, changes) {
			l.planLocked(l.lease.Next(r.Sent))
		}
	}
	l.mu.Unlock()
	if !counts {
		return // released; or the answer is too late, and the loss is being told
	}
	if err != nil {
		l.client.log.Info("redislock: renewal failed, trying again", set.logged("error", err)...)
	}
	l.reportRefreshed(context.Background(), r.Sent, err)
}

// clientClosed declares the lock lost: nobody renews it any more.
func (w *watch) clientClosed() { w.lock.lose(wire.ErrClosed) }

// endLocked ends the watch. It returns a function that tells the contexts, and then Lost unless nothing is lost. Call
// that without mu.
func (w *watch) endLocked() func(cause error) {
	w.lock.client.schedule.Drop(&w.entry)
	if w.hears != nil {
		w.lock.client.hub.Unlisten(&w.hears.Listener)
	}
	isLost := w.lost
	return func(cause error) {
		w.told.End(cause)
		if isLost != nil && errors.Is(cause, ErrLockLost) {
			close(isLost)
		}
	}
}

// missing takes in that keys are not ours any more: the lock is lost. It returns why; nil if ReleaseKeys has freed all of
// them meanwhile.
func (l *Lock) missing(keys []string) error {
	l.mu.Lock()
	if !owners.HaveCommon(keys, l.set.Keys) {
		l.mu.Unlock()
		return nil
	}
	err := l.whyMissingLocked(keys)
	l.mu.Unlock()
	l.lose(err)
	return err
}

// whyMissingLocked is the error of keys that are not ours. It says that somebody has broken them, if the Client has heard so.
func (l *Lock) whyMissingLocked(keys []string) error {
	err := &missingError{keys: withoutPrefix(keys, l.set.cut)}
	if w := l.watch; w != nil && w.hears != nil {
		if n := w.hears.notice; n != nil && !n.Ended && n.Concerns(keys) {
			err.broken, err.reason = ErrBroken, n.Reason
		}
	}
	return err
}

// lose declares the lock lost and tells everybody.
func (l *Lock) lose(why error) {
	l.mu.Lock()
	if l.state != held {
		l.mu.Unlock()
		return
	}
	why = &lossError{l.set, why}
	l.state, l.why = lost, why
	set, mine, announced := l.set, l.claim, l.label != nil && l.label.announced
	line, end := l.line, func(error) {}
	l.claim, l.line = nil, nil
	if l.watch != nil {
		end = l.watch.endLocked()
	}
	l.mu.Unlock()
	line.Ends(l)

	end(causeOf(why))
	l.owner.Load().Drop(mine)
	if errors.Is(why, wire.ErrClosed) { // its holder has closed the Client
		l.client.log.Info("redislock: client closed, lock left to its ttl", set.logged()...)
	} else {
		l.client.log.Warn(logLoss, set.logged("error", why)...)
	}
	if announced { // else the hooks are told once they know of the lock
		l.reportLost(why)
	}
}

// causeOf is the cause that contexts get when a lock is lost for this reason.
func causeOf(why error) error {
	if errors.Is(why, ErrBroken) {
		return why
	}
	return ErrLockLost
}

// logLoss is logged once, by whichever part finds out the loss.
const logLoss = "redislock: lock lost"
