package multi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
)

// undoPatience is how long an Obtain that has failed waits in all until its parts are released.
const undoPatience = time.Second

// turnOver is how long the release of a part waits for the release of the part behind it.
const turnOver = 50 * time.Millisecond

// Release releases the parts, the last one first, each as [redislock.Lock.Release] does: even if
// ctx has ended, and whatever became of the other parts. It returns their errors, joined, each with
// its part.
//
// The time of [redislock.Options].HoldAtLeast counts from when Obtain returned. Before it is over, a
// Release leaves all parts for the rest of it, as [Lock.Leave] does.
//
// If a server does not answer, its part delays the others for a moment only. Release waits for the
// answer until ctx ends, and then for one more second.
func (l *Lock) Release(ctx context.Context) error {
	if l.isNothing() {
		return fmt.Errorf("multi: release: %w", redislock.ErrLockNotHeld)
	}
	return l.end(ctx, "release", l.rest())
}

// Leave ends the lock and keeps the keys of all parts taken for ttl, the last part first, each as
// [redislock.Lock.Leave] does. Each part is left for ttl from when its server is asked, so parts that are
// asked first are free a little earlier. If more is left of [redislock.Options].HoldAtLeast, the parts are
// left for that time. If ttl is not positive, because the time until which the keys were to be left has
// passed, Leave is a Release. The errors are as for Release. A ttl of more than 365 days is a
// [redislock.ErrInvalid]; then the lock stays as it is.
func (l *Lock) Leave(ctx context.Context, ttl time.Duration) error {
	switch {
	case l.isNothing():
		return fmt.Errorf("multi: leave: %w", redislock.ErrLockNotHeld)
	case ttl > maxTTL:
		return fmt.Errorf("multi: leave: %w", invalid("ttl", "%s is more than %s", ttl, maxTTL))
	}
	return l.end(ctx, "leave", max(0, ttl, l.rest()))
}

// rest is for how much longer Options.HoldAtLeast keeps the keys taken; 0: no longer.
func (l *Lock) rest() time.Duration { return clock.Now().Until(l.keep) }

// end releases the parts, or leaves them for a time that is not 0.
func (l *Lock) end(ctx context.Context, operation string, kept time.Duration) error {
	l.endings.Take(ctx)
	defer l.endings.End()
	l.tellKnownLoss()
	l.mu.Lock()
	first := !l.ended
	l.ended = true
	l.mu.Unlock()
	began := l.events.now()
	errs := make([]error, len(l.locks))
	l.backward(func(i int, lock *redislock.Lock) {
		var err error
		if kept > 0 {
			err = lock.Leave(ctx, kept)
		} else {
			err = lock.Release(ctx)
		}
		if err != nil {
			errs[len(errs)-1-i] = fmt.Errorf("multi: %s: %s: %w", operation, name(l.parts, i), err)
		}
	})
	err := errors.Join(errs...)
	if first && errors.Is(err, redislock.ErrLockNotHeld) {
		l.mu.Lock()
		l.missed = true
		l.mu.Unlock()
	}
	if !slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, redislock.ErrLockNotHeld) }) {
		kept = 0 // there was nothing to leave
	}
	l.events.tell(ctx, l.events.told().Released, redislock.Event{
		Duration: l.events.since(began), Attempts: 1, Held: l.events.since(l.since), Kept: kept, Ended: true, Err: err,
	})
	return err
}

// hasEnded reports whether the lock was released or left, and no part was found lost then.
func (l *Lock) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended && !l.missed
}

// undo releases the parts that a round has taken, the last one first, also if ctx has ended. If a
// release cannot be confirmed, the Client goes on with it in the background, and tells its hooks.
// To the caller it makes no difference, for they do not have the lock either way.
func (l *Lock) undo(ctx context.Context) {
	// Not an ended context: with that Release would wait for a second.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoPatience)
	defer cancel()
	l.backward(func(_ int, lock *redislock.Lock) { _ = lock.Release(ctx) })
}

// backward does something with each part, the last one first, and waits for all of them. If one part
// takes long, the parts before it have their turn all the same.
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
