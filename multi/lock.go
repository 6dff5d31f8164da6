package multi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock"
)

// undoPatience is how long in all an Obtain that has failed waits for its parts to be released.
const undoPatience = time.Second

// turnOver is how long the release of a part waits for that of the one behind it.
const turnOver = 50 * time.Millisecond

// A Lock is one hold of several parts. It is safe for concurrent use. A nil Lock and a zero one hold
// nothing: TTL, Refresh and Release say so, with a [redislock.ErrLockNotHeld].
type Lock struct {
	parts []Part
	locks []*redislock.Lock // of each part, in the order in which they were taken

	mu   sync.Mutex
	lost chan struct{} // nil before somebody asks for it
}

// Held is one part of a lock, as it was taken.
type Held struct {
	Place string   // that of its Client
	Keys  []string // the write keys, then the read keys

	// Fence is greater than every number that was given before for any key of the part. It is 0
	// without [redislock.Options].Fenced. Use it for what the keys of this part protect. The
	// numbers of other parts, even those of the same lock, were counted elsewhere and cannot be
	// compared with it.
	Fence int64
}

// isNothing reports whether no Obtain has returned the lock.
func (l *Lock) isNothing() bool { return l == nil || len(l.locks) == 0 }

// Parts returns what is held, in the order in which it was taken. There may be fewer parts than the
// caller asked for, because keys that one Client can take as one set become one part.
func (l *Lock) Parts() []Held {
	parts := make([]Held, len(l.locks))
	for i, lock := range l.locks {
		parts[i] = Held{Place: l.parts[i].Place, Keys: lock.Keys(), Fence: lock.Fence()}
	}
	return parts
}

// Token returns the token under which all parts are held. Whoever has the token can release and
// refresh them, each with [redislock.Client.Attach], so do not log it.
func (l *Lock) Token() string { return l.locks[0].Token() }

// Metadata returns the metadata that is stored with the keys.
func (l *Lock) Metadata() string { return l.locks[0].Metadata() }

// Deadline returns the end of the time for which all parts are certain: the earliest of their
// deadlines. Each Refresh moves it, and so does the watchdog.
func (l *Lock) Deadline() time.Time {
	earliest := l.locks[0].Deadline()
	for _, lock := range l.locks[1:] {
		if deadline := lock.Deadline(); deadline.Before(earliest) {
			earliest = deadline
		}
	}
	return earliest
}

// Context returns a context derived from ctx that is cancelled with cause [redislock.ErrLockLost]
// when any part is lost, no later than the Deadline, and with [context.Canceled] when the lock is
// released. After a loss the other parts stay held until Release, and with a watchdog they are
// renewed.
func (l *Lock) Context(ctx context.Context) context.Context {
	if i := l.firstLost(); i >= 0 {
		return l.locks[i].Context(ctx) // whatever has become of the others
	}
	for _, lock := range l.locks {
		ctx = lock.Context(ctx) //nolint:fatcontext // one for each part: that ends with any of them
	}
	return ctx
}

// Lost returns a channel that is closed when any part is lost: see [Lock.Context]. A Release does
// not close it.
func (l *Lock) Lost() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.firstLost(); i >= 0 && l.lost == nil {
		return l.locks[i].Lost()
	}
	if l.lost == nil {
		lost := make(chan struct{})
		held := l.Context(context.Background())
		context.AfterFunc(held, func() {
			if errors.Is(context.Cause(held), redislock.ErrLockLost) {
				close(lost)
			}
		})
		l.lost = lost
	}
	return l.lost
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

// TTL asks every server at once, and returns the least remaining lease of any part. If any part is
// no longer ours the error is a [redislock.ErrLockNotHeld] that names it. If an answer does not
// come the error is a [redislock.ErrUnknownOutcome].
func (l *Lock) TTL(ctx context.Context) (time.Duration, error) {
	if l.isNothing() {
		return 0, fmt.Errorf("multi: ttl: %w", redislock.ErrLockNotHeld)
	}
	ttls := make([]time.Duration, len(l.locks))
	err := l.each(func(i int, lock *redislock.Lock) (err error) {
		ttls[i], err = lock.TTL(ctx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("multi: ttl: %w", err)
	}
	return slices.Min(ttls), nil
}

// Refresh makes the leases of all parts end ttl from now, and asks all servers at once. From then
// on the watchdog uses this ttl as well. If any part is no longer ours the error is a
// [redislock.ErrLockNotHeld] that names it. If an answer does not come the error is a
// [redislock.ErrUnknownOutcome]. In both cases the other parts are refreshed.
func (l *Lock) Refresh(ctx context.Context, ttl time.Duration) error {
	if l.isNothing() {
		return fmt.Errorf("multi: refresh: %w", redislock.ErrLockNotHeld)
	}
	err := l.each(func(_ int, lock *redislock.Lock) error { return lock.Refresh(ctx, ttl) })
	if err != nil {
		return fmt.Errorf("multi: refresh: %w", err)
	}
	return nil
}

// Release releases the parts, the last one first, each as [redislock.Lock.Release] does: even if
// ctx has ended, and whatever became of the other parts. It returns their errors, joined, each with
// its part.
//
// A part whose server does not answer delays the others for a moment only. Release waits for its
// answer until ctx ends, and then for one more second.
func (l *Lock) Release(ctx context.Context) error {
	if l.isNothing() {
		return fmt.Errorf("multi: release: %w", redislock.ErrLockNotHeld)
	}
	errs := make([]error, len(l.locks))
	l.backward(func(i int, lock *redislock.Lock) {
		if err := lock.Release(ctx); err != nil {
			errs[len(errs)-1-i] = fmt.Errorf("multi: release: %s: %w", name(l.parts, i), err)
		}
	})
	return errors.Join(errs...)
}

// undo releases the parts that a round has taken, the last one first, also if ctx has ended. What
// cannot be confirmed the Clients go on with in the background, and their hooks are told: to the
// caller it makes no difference, for the lock is not theirs either way.
func (l *Lock) undo(ctx context.Context) {
	// Not an ended context: for that one Release would wait a second.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoPatience)
	defer cancel()
	l.backward(func(_ int, lock *redislock.Lock) { _ = lock.Release(ctx) })
}

// backward does something with each part, the last one first, and waits for all of them. One that takes
// long does not keep those before it from their turn.
func (l *Lock) backward(do func(int, *redislock.Lock)) {
	var all sync.WaitGroup
	for i, lock := range slices.Backward(l.locks) {
		if i == 0 {
			do(i, lock)
			break
		}
		done := make(chan struct{})
		all.Go(func() {
			defer close(done)
			do(i, lock)
		})
		timer := time.NewTimer(turnOver)
		select {
		case <-done:
		case <-timer.C:
		}
		timer.Stop()
	}
	all.Wait()
}

// live reports why a lock of which all parts were taken is not to be returned: ctx has ended, which
// it does with the loss of a part, too, or a lease.
func (l *Lock) live(ctx context.Context) error {
	if len(l.locks) == 1 {
		return nil // its Client has seen to that
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", redislock.ErrNotObtained, context.Cause(ctx))
	}
	at := time.Now()
	for i, lock := range l.locks {
		if !at.Before(lock.Deadline()) {
			return fmt.Errorf("%s: %w: its lease was over before all parts were there",
				name(l.parts, i), redislock.ErrNotObtained)
		}
	}
	return nil
}

// each does something with all parts at once, waits for all of them, and joins the errors.
func (l *Lock) each(do func(int, *redislock.Lock) error) error {
	errs := make([]error, len(l.locks))
	run := func(i int) {
		if err := do(i, l.locks[i]); err != nil {
			errs[i] = fmt.Errorf("%s: %w", name(l.parts, i), err)
		}
	}
	var others sync.WaitGroup
	for i := range l.locks[1:] {
		others.Go(func() { run(i + 1) })
	}
	run(0)
	others.Wait()
	return errors.Join(errs...)
}
