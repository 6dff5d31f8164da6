package multi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/serial"
)

var _ held.Lock = (*Lock)(nil)

// maxTTL is the longest time that package redislock counts.
const maxTTL = clock.Longest

// A Lock is one hold of several parts. It is safe for concurrent use. A nil Lock and a zero one hold
// nothing: each of their operations that can fail returns a [redislock.ErrLockNotHeld].
//
// It is a Lock of package held, and no Fenced one, because each part has a fencing number of its own: see
// [Lock.Parts].
type Lock struct {
	parts []Part
	locks []*redislock.Lock // of each part, in the order in which they were taken

	events *events
	since  clock.Moment // it has been held since then
	keep   clock.Moment // if a Release comes before, it leaves the keys until then; zero: it frees them

	endings serial.Turns // one Release at a time: if two shared the parts, neither would have released all of them

	mu     sync.Mutex
	lost   chan struct{} // nil before somebody asks for it
	ended  bool          // by Release or Leave
	missed bool          // the Release or Leave that ended it has found that a part was lost
	told   bool          // the hooks were told of a loss
}

// A Taken is one part of a lock, as it was taken.
type Taken struct {
	Place string   // the place of its Client
	Keys  []string // the write keys, then the read keys

	// Fence is greater than every number that was given before for any key of the part. It is 0
	// without [redislock.Options].Fenced. Use it for what the keys of this part protect. The
	// numbers of other parts, even of the same lock, were counted elsewhere and cannot be compared
	// with it.
	Fence int64
}

// isNothing reports whether no Obtain has returned the lock.
func (l *Lock) isNothing() bool { return l == nil || len(l.locks) == 0 }

// Parts returns what is held, in the order in which it was taken. There may be fewer parts than the
// caller asked for, because keys that one Client can take as one set become one part.
func (l *Lock) Parts() []Taken {
	if l.isNothing() {
		return nil
	}
	parts := make([]Taken, len(l.locks))
	for i, lock := range l.locks {
		parts[i] = Taken{Place: l.parts[i].Place, Keys: lock.Keys(), Fence: lock.Fence()}
	}
	return parts
}

// Keys returns the keys of all parts: the write keys, then the read keys, each in the order in which they
// were taken. A key that is locked at two places is there twice.
func (l *Lock) Keys() []string {
	if l.isNothing() {
		return nil
	}
	return keysOf(l.parts)
}

// Token returns the token under which all parts are held. The token is enough to release and
// refresh them, each with [redislock.Client.Attach], so do not log it.
func (l *Lock) Token() string {
	if l.isNothing() {
		return ""
	}
	return l.locks[0].Token()
}

// Metadata returns the metadata that is stored with the keys.
func (l *Lock) Metadata() string {
	if l.isNothing() {
		return ""
	}
	return l.locks[0].Metadata()
}

// Deadline returns the end of the time for which all parts are certain: the earliest of their
// deadlines. Each Refresh moves it, and so does the watchdog.
func (l *Lock) Deadline() time.Time {
	if l.isNothing() {
		return time.Time{}
	}
	earliest := l.locks[0].Deadline()
	for _, lock := range l.locks[1:] {
		if deadline := lock.Deadline(); deadline.Before(earliest) {
			earliest = deadline
		}
	}
	return earliest
}

// TTL asks every server at once, and returns the least remaining lease of any part. If any part is
// no longer ours the error is a [redislock.ErrLockNotHeld], which names the part. If an answer does
// not come the error is a [redislock.ErrUnknownOutcome].
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
	if err := clock.CheckTTL(ttl); err != nil {
		return fmt.Errorf("multi: refresh: %w", invalid("ttl", "%v", err))
	}
	began := l.events.now()
	err := l.each(func(_ int, lock *redislock.Lock) error { return lock.Refresh(ctx, ttl) })
	if err != nil {
		err = fmt.Errorf("multi: refresh: %w", err)
	}
	if errors.Is(err, redislock.ErrLockNotHeld) {
		l.tellLost(err)
	}
	l.events.tell(ctx, l.events.told().Refreshed, redislock.Event{
		Duration: l.events.since(began), Attempts: 1, Held: l.events.since(l.since), Expires: l.expires(err), Err: err,
	})
	return err
}

// live reports why a lock with all its parts is not to be returned: ctx has ended, also by the loss
// of a part, or a lease has.
func (l *Lock) live(ctx context.Context) error {
	if len(l.locks) == 1 {
		return nil // its Client goes on with that
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
