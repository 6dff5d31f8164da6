package quorum

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// Context returns a context derived from ctx that is cancelled with cause [redislock.ErrLockLost]
// when fewer than a majority of the nodes hold the lock, no later than the Deadline, and with
// [context.Canceled] when the lock is released. The context of a nil or zero Lock has ended already,
// with a [redislock.ErrLockNotHeld]. [FromContext] finds the lock in the context.
func (l *Lock) Context(ctx context.Context) context.Context {
	if l.isNothing() {
		return inctx.Nobodys(ctx, within{}, l, l.usable())
	}
	ctx = inctx.With(ctx, within{}, l)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == held {
		l.watchLocked()
	}
	return l.told.Join(ctx)
}

// Lost returns a channel that is closed when the lock is lost: see [Lock.Context]. A Release does
// not close it.
func (l *Lock) Lost() <-chan struct{} {
	if l.isNothing() {
		return make(chan struct{})
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost == nil {
		l.lost = make(chan struct{})
		if l.state == lost {
			close(l.lost)
		}
	}
	if l.state == held {
		l.watchLocked()
	}
	return l.lost
}

// watchLocked has every node tell when it loses the lock, no later than its own deadline. So when
// fewer than a majority are left, the Deadline of the lock has not come.
func (l *Lock) watchLocked() {
	if l.watched {
		return
	}
	l.watched = true
	for i := range l.holds {
		if l.holds[i].lock != nil {
			l.watchNodeLocked(i)
		}
	}
}

func (l *Lock) watchNodeLocked(i int) {
	h := &l.holds[i]
	lock := h.lock
	ctx := lock.Context(context.Background())
	h.unwatch = context.AfterFunc(ctx, func() { l.drop(i, lock, context.Cause(ctx)) })
}

// drop takes note that a node has lost the lock, and why.
func (l *Lock) drop(i int, lock *redislock.Lock, why error) {
	l.mu.Lock()
	h := &l.holds[i]
	if h.lock != lock || l.state != held {
		l.mu.Unlock()
		return
	}
	deadline := l.deadlineLocked()
	h.lock, h.former, h.why = nil, lock, why
	if h.unwatch != nil {
		h.unwatch()
		h.unwatch = nil
	}
	if l.liveLocked() >= l.quorum.need {
		l.armLocked()
		l.mu.Unlock()
		l.clear(lock)
		return
	}
	tell := l.loseLocked(deadline)
	l.mu.Unlock()
	tell()
}

// loseLocked declares the lock lost. It returns a func that tells everybody, to be called without mu.
func (l *Lock) loseLocked(deadline time.Time) (tell func()) {
	l.deadline = deadline
	l.why = fmt.Errorf("quorum: %w%s: %s", redislock.ErrLockLost, l.want.name(),
		share(l.liveLocked(), len(l.holds), l.quorum.need))
	for i := range l.holds {
		if h := &l.holds[i]; errors.Is(h.why, redislock.ErrBroken) { // one node says why, also if others do not know
			l.why = fmt.Errorf("%w: %w", l.why, h.why)
			break
		}
	}
	locks, tellWaiting := l.endLocked(lost)
	for i, lock := range locks { // nobody may use what is left
		if lock != nil && !l.attached {
			l.quorum.spawnFor(i, &l.want, l, func() { l.giveBack(lock) })
		}
	}
	why, announced := l.why, l.announced
	return func() {
		tellWaiting()
		if announced { // else the Obtain fails, or the hooks are told of the loss once they know of the lock
			l.report(context.Background(), l.quorum.hooks.Lost, clock.Now(), told{ended: true, err: why})
		}
	}
}

// whyLost is the error of a lost lock: a Release of it says that it is not held.
func (l *Lock) whyLost(released error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return fmt.Errorf("%w: %w", l.why, errors.Unwrap(released))
	}
	return fmt.Errorf("quorum: %w%s: %w", redislock.ErrLockLost, l.want.name(), errors.Unwrap(released))
}

// causeLocked is the cause with which the contexts of a lost lock end.
func (l *Lock) causeLocked() error {
	if errors.Is(l.why, redislock.ErrBroken) {
		return l.why
	}
	return redislock.ErrLockLost
}

// clear frees the keys that a node may still have after it lost the lock, so that the node can be won
// back: if the node has not answered, nobody knows what it lost. If the caller chose the token, the
// keys count as free anyway, and must not be released late, when they are held again.
func (l *Lock) clear(lock *redislock.Lock) {
	if l.want.token == "" {
		l.quorum.spawn(func() { l.giveBack(lock) })
	}
}

// giveBack releases a lock that does not count. If the release cannot be confirmed, the Client of the node goes on with
// it.
func (l *Lock) giveBack(lock *redislock.Lock) {
	l.mu.Lock()
	patience := l.want.patience
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(pace.GivingBack(context.Background()), patience)
	defer cancel()
	_ = lock.Release(ctx)
}

// endLocked ends the hold on this side. It returns what the nodes still have, and a func that tells
// everybody, to be called without mu.
func (l *Lock) endLocked(to state) (locks []*redislock.Lock, tell func()) {
	if l.state == held {
		if l.deadline.IsZero() {
			l.deadline = l.deadlineLocked()
		}
		l.state = to
		l.gone.Store(true)
	}
	if l.timer != nil {
		l.timer.Stop()
	}
	locks = make([]*redislock.Lock, len(l.holds))
	for i := range l.holds {
		h := &l.holds[i]
		locks[i] = h.lock
		if h.lock == nil {
			locks[i] = h.former
		}
		if h.stop != nil {
			h.stop()
		}
		if h.unwatch != nil {
			h.unwatch()
			h.unwatch = nil
		}
	}
	isLost, cause := l.lost, context.Canceled
	if l.state == lost { // perhaps by another goroutine, which has not told yet
		cause = l.causeLocked()
	}
	return locks, func() {
		l.told.End(cause)
		if to == lost && isLost != nil {
			close(isLost)
		}
	}
}

// ended reports whether the lock is not held any more.
func (l *Lock) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != held
}

// armLocked has missing nodes asked again after a third of the ttl, if there are any and the lock
// has a watchdog.
func (l *Lock) armLocked() {
	if l.armed || l.state != held || !l.want.opt.Watchdog || len(l.missingLocked()) == 0 {
		return
	}
	l.armed = true
	if l.timer == nil {
		l.timer = time.AfterFunc(l.want.ttl/3, l.regain)
	} else {
		l.timer.Reset(l.want.ttl / 3)
	}
}

// missingLocked returns the nodes that might be won back. An attached lock has none: it does not know what to ask for.
func (l *Lock) missingLocked() []int {
	var missing []int
	if l.attached {
		return nil
	}
	for i := range l.holds {
		if h := &l.holds[i]; h.lock == nil && !h.asked && !h.barred {
			missing = append(missing, i)
		}
	}
	return missing
}

// regain asks the missing nodes for the lock.
func (l *Lock) regain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed = false
	if l.quorum.closed.Load() || l.state != held {
		return
	}
	for _, i := range l.missingLocked() {
		l.holds[i].asked = true
		w, owed := l.want, l.quorum.nodes[i].owed(&l.want)
		l.quorum.spawnFor(i, &w, l, func() {
			ctx, cancel := context.WithTimeoutCause(l.quorum.ctx, w.patience, errSilent)
			defer cancel()
			if a := l.fetch(ctx, i, &w, owed); a.kind == yes {
				l.catchUp(ctx, a.lock, w.ttl)
			}
		})
	}
}

// catchUp gives a node that was asked for a lease of ttl the lease of a Refresh that came meanwhile.
func (l *Lock) catchUp(ctx context.Context, lock *redislock.Lock, ttl time.Duration) {
	l.mu.Lock()
	last := l.want.ttl
	l.mu.Unlock()
	if last != ttl {
		_ = lock.Refresh(ctx, last)
	}
}
