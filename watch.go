package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/internal/circle"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A watch tells the holder of a lock when it is lost, and renews the lease if the lock has a
// watchdog. Its fields are guarded by the mutex of the lock.
type watch struct {
	lock   *Lock
	entry  clock.Entry
	renews bool
	next   clock.Moment // of the renewal
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
	if l.isNothing() {
		return make(chan struct{})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.state {
	case held:
		w := l.watchLocked(false)
		if w.lost == nil {
			w.lost = make(chan struct{})
		}
		return w.lost
	case lost:
		return closedChannel
	default:
		return make(chan struct{})
	}
}

var closedChannel = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// watchLocked makes sure that the lock is watched.
func (l *Lock) watchLocked(renews bool) *watch {
	if l.watch == nil {
		l.watch = &watch{lock: l, renews: renews}
		l.watch.entry.Task = l.watch
		l.watch.planLocked(l.obtained)
	}
	return l.watch
}

// planLocked sets the next renewal, after a third of the lease that counts. sent is when the request for that lease was
// sent.
func (w *watch) planLocked(sent clock.Moment) {
	w.next = sent.Add(min(w.lock.certain, w.lock.deadline.Mono-sent.Mono) / 3)
	w.scheduleLocked()
}

// alarmLocked is when the loss is declared if nothing else happens: a little before the deadline, so that everyone who
// waits for it is told by then. How much before depends on the lease that counts. While a shorter lease may begin, a
// little of the longer one may be more than all of the shorter one.
func (w *watch) alarmLocked() clock.Moment {
	return w.lock.deadline.Add(-min(w.lock.certain/20, 100*time.Millisecond))
}

func (w *watch) scheduleLocked() {
	if w.lock.deadline == (clock.Moment{}) {
		return // attached and never refreshed: its lease is not known
	}
	if listen := w.lock.client.listen; listen != nil && w.hears == nil && w.lock.state == held {
		listen(w) // not before, because nothing would end it
	}
	due, early := w.alarmLocked(), time.Duration(0)
	if w.renews && due.Mono > w.next.Mono {
		due, early = w.next, w.lock.certain/30
	}
	if !w.lock.client.schedule.Put(&w.entry, due, early) {
		go w.lock.lose(wire.ErrClosed) // in a goroutine, because the lock's mutex is held
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
	if at.Reached(w.alarmLocked()) {
		why := errors.New("no renewal was confirmed before the deadline")
		if w.failed != nil { // as text: the lock is lost, whatever the outcome was
			why = fmt.Errorf("%w: %v", why, w.failed) //nolint:errorlint // see above
		}
		l.mu.Unlock()
		l.lose(why)
		return
	}
	var c *call
	if w.renews && at.Add(l.certain/30).Reached(w.next) {
		c = w.renewalLocked()
		// If it is not answered soon, another one follows: a lost reply is not a loss.
		w.next = at.Add(max(l.certain/9, time.Millisecond))
	}
	w.scheduleLocked()
	l.mu.Unlock()
	if c != nil {
		l.client.conn.Start(&c.Call)
	}
}

// renewalLocked prepares one renewal.
func (w *watch) renewalLocked() *call {
	l := w.lock
	changes, ttl := l.change.times(), l.ttl
	r := l.refreshing(context.Background(), l.set, ttl, true)
	r.isOf(&l.asker, l.owner.Load())
	r.Replicas = replicasFor(l.client.replicas, ttl)
	r.Then = func(*wire.Call) { w.renewed(r, ttl, changes) }
	return r
}

// renewed handles the answer to a renewal. If a Refresh has changed something since it was sent, that stands.
func (w *watch) renewed(r *call, ttl time.Duration, changes int) {
	l := w.lock
	_, redo, err := l.verdict("renew", r)
	if redo {
		w.renewNow() // the request that overtook it may have made the lease shorter
		return
	}
	l.mu.Lock()
	w.failed = err
	counts := l.state == held && !clock.Now().Reached(w.alarmLocked())
	certain := l.certainLocked(ttl)
	deadline := r.Sent.Add(clock.Window(certain))
	if err == nil && w.hears != nil {
		w.hears.notice = nil
	}
	if err == nil && counts && l.change.times() == changes && deadline.Reached(l.deadline) {
		l.deadline, l.certain = deadline, certain
		w.planLocked(r.Sent)
	}
	l.mu.Unlock()
	if !counts {
		return // released; or the answer is too late, and the loss is being told
	}
	if err != nil {
		l.client.log.Info("redislock: renewal failed, trying again", l.snapshot().logged("error", err)...)
	}
	l.reportRefreshed(context.Background(), r.Sent, err)
}

// clientClosed declares the lock lost: nobody renews it any more.
func (w *watch) clientClosed() { w.lock.lose(wire.ErrClosed) }

// renewNow has the next renewal follow at once.
func (w *watch) renewNow() {
	w.lock.mu.Lock()
	defer w.lock.mu.Unlock()
	if w.lock.state == held {
		w.next = clock.Now()
		w.scheduleLocked()
	}
}

// endLocked ends the watch. It returns a function that tells the contexts, and then Lost unless nothing is lost. Call
// that without mu.
func (w *watch) endLocked() func(cause error) {
	w.lock.client.schedule.Drop(&w.entry)
	if w.hears != nil {
		w.lock.client.hub.Unlisten(&w.hears.Listener)
	}
	isLost := w.lost
	w.lost = nil
	return func(cause error) {
		w.told.End(cause)
		if isLost != nil && errors.Is(cause, ErrLockLost) {
			close(isLost)
		}
	}
}

// lose declares the lock lost and tells everybody.
func (l *Lock) lose(why error) {
	l.mu.Lock()
	if l.state != held {
		l.mu.Unlock()
		return
	}
	why = &lossError{l.set.String(), why}
	l.state, l.why = lost, why
	var end func(error)
	if l.watch != nil {
		end = l.watch.endLocked()
	}
	mine, line := l.claim, l.line
	l.claim, l.line = nil, nil
	announced := l.announced
	l.mu.Unlock()
	line.Ends(l)

	if end != nil {
		end(causeOf(why))
	}
	l.owner.Load().Drop(mine)
	if errors.Is(why, wire.ErrClosed) { // its holder has closed the Client
		l.client.log.Info("redislock: client closed, lock left to its ttl", l.snapshot().logged()...)
	} else {
		l.client.logLoss(l.snapshot(), why)
	}
	if announced { // else the hooks are told once they know of the lock
		l.report(context.Background(), l.client.hooks.Lost, clock.Now(), 0, why)
	}
}

// logLoss logs once that a lock was lost, whichever part has found it out.
func (c *Client) logLoss(set keySet, why error) {
	c.log.Warn("redislock: lock lost", set.logged("error", why)...)
}

func (l *Lock) isLost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state == lost
}

// whyLost is the error of a lost lock, which a Release may have found out.
func (l *Lock) whyLost(released error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return l.why
	}
	return &lossError{l.set.String(), released}
}
