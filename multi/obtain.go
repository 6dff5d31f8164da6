package multi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// Obtain takes all parts, or none, for ttl. It takes them in the fixed order, each in one step,
// under one token and with the same metadata. The other options are those of
// [redislock.Client.Obtain], with these differences:
//
//   - RetryStrategy: if a part cannot be had, those before it are released, and the whole is asked
//     for again. The strategy is called once for each Obtain.
//   - Token: an Obtain that fails releases the parts that it has taken, even keys that the token
//     held before.
//   - Watchdog: if a part is lost while another one is asked for, the whole begins anew if the
//     RetryStrategy says so. Otherwise the error is a [redislock.ErrLockLost] as well.
//   - Queue needs Watchdog, which renews the parts that are held while Obtain waits for another
//     one.
//   - Intent is an [errors.ErrUnsupported]: use Queue.
//
// Bad parts are refused before anything is sent. If somebody else holds a part the error is a
// [redislock.ErrNotObtained] and a [*redislock.ConflictError] with its key. If ctx ended meanwhile,
// the error matches the cause of ctx, too. It is also an ErrNotObtained if the lease of a part was
// over before the last part was obtained. If no answer came the error is a
// [redislock.ErrUnknownOutcome].
//
// Obtain gives up a part whose server does not answer as [redislock.Client.Obtain] does: after the
// ttl, or after one read time-out of its Redis client if that is longer. So the parts before it are
// not locked in vain for longer than that, even if ctx does not end. The same holds for a part that
// is waited for in line, but not for the first part. In line a server is asked every 5 s, and if it
// does not answer then, the place in line is given up. After each of these the whole begins anew if
// the RetryStrategy says so.
//
// After an error nothing stays locked. Parts that were taken are released before Obtain returns,
// even if ctx has ended. For servers that do not answer Obtain waits 1.1 s in all, and the other
// parts are free meanwhile. The Clients of those servers go on in the background, as they do with a
// part whose request was under way. So Obtain may return that long after the end of ctx.
func Obtain(ctx context.Context, parts []Part, ttl time.Duration, opt *redislock.Options) (*Lock, error) {
	o := obtaining{ttl: ttl, began: time.Now()}
	if opt != nil {
		o.opt = *opt
	}
	switch {
	case o.opt.Intent:
		return nil, fmt.Errorf("multi: obtain: Intent: %w", errors.ErrUnsupported)
	case o.opt.Queue && !o.opt.Watchdog:
		return nil, errors.New("multi: obtain: Queue needs Watchdog: what is held has to be renewed while the rest is waited for")
	}
	var err error
	o.pace = pace.New(o.opt.RetryStrategy)
	if o.parts, err = arrange(parts); err != nil {
		return nil, fmt.Errorf("multi: obtain: %w", err)
	}
	lock, err := o.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("multi: obtain: %w", err)
	}
	return lock, nil
}

// With obtains the parts, runs fn, and releases the parts, even if fn panics. While fn runs the
// watchdog renews every lease. If any part is lost all the same, the context of fn is cancelled
// with cause [redislock.ErrLockLost]. ctx bounds both the waiting and fn.
//
// Errors are those of [redislock.Client.With]. If fn was not run, it is the error of Obtain. If a
// part was lost it is an ErrLockLost, joined with the error of fn. Otherwise it is the error of fn,
// unchanged.
func With(ctx context.Context, parts []Part, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) (err error) {
	var watched redislock.Options
	if opt != nil {
		watched = *opt
	}
	watched.Watchdog = true
	lock, err := Obtain(ctx, parts, ttl, &watched)
	if err != nil {
		return err
	}
	held := lock.Context(ctx)
	defer func() {
		lost := lock.firstLost()
		failed := lock.Release(ctx)
		switch {
		case lost >= 0:
			err = errors.Join(fmt.Errorf("multi: %s: %w", name(lock.parts, lost), redislock.ErrLockLost), failed, err)
		case errors.Is(failed, redislock.ErrLockNotHeld):
			err = errors.Join(fmt.Errorf("multi: %w: %w", redislock.ErrLockLost, failed), err)
		}
		// Else what was not confirmed is seen to by the Clients, whose hooks tell.
	}()
	return fn(held)
}

// An obtaining is one Obtain under way.
type obtaining struct {
	parts []Part // in the order in which they are taken
	ttl   time.Duration
	opt   redislock.Options

	began    time.Time
	rounds   int
	pace     pace.Pace
	conflict error // of the last round that had one
	last     error // of the last round
}

// run asks for the whole until it is there, or the strategy or the context ends.
func (o *obtaining) run(ctx context.Context) (*Lock, error) {
	for {
		o.rounds++
		lock, again, err := o.round(ctx)
		if err == nil {
			return lock, nil
		}
		left := time.Duration(-1) // of the lease of whoever holds it
		if conflict, ok := errors.AsType[*redislock.ConflictError](err); ok {
			o.conflict, left = err, conflict.TTL
		}
		if ctx.Err() != nil {
			return nil, o.ended(ctx, err)
		}
		o.last = err
		wait := backoff.Stop
		if again {
			wait = o.pace.Next()
		}
		if wait < 0 {
			return nil, err
		}
		if !pace.Sleep(ctx, pace.Cut(wait, left)) {
			return nil, o.ended(ctx, err)
		}
	}
}

// ended is the error of an Obtain whose context has ended: with why it had not succeeded before, if
// the last round does not say.
func (o *obtaining) ended(ctx context.Context, err error) error {
	if errors.Is(err, redislock.ErrNotObtained) && o.conflict != nil {
		err = o.conflict
	}
	if o.last != nil && !errors.Is(o.last, redislock.ErrNotObtained) && !errors.Is(err, o.last) {
		err = fmt.Errorf("%w; before that: %w", err, o.last)
	}
	cause := context.Cause(ctx)
	if errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w after %s and %s: %w",
		cause, time.Since(o.began).Round(time.Millisecond), count.Of(o.rounds, "attempt"), err)
}

// round asks for each part once, or stands in line for it, and gives back what it has if it cannot
// have all. It reports whether it is worth asking again.
func (o *obtaining) round(ctx context.Context) (lock *Lock, again bool, err error) {
	l := &Lock{parts: o.parts, locks: make([]*redislock.Lock, 0, len(o.parts))}
	asked := make([]time.Time, 0, len(o.parts)) // when, for the lease that each has
	defer func() {
		if err != nil {
			l.undo(ctx)
		}
	}()
	held, stop := context.WithCancel(ctx) // ends with the loss of any part, too
	defer stop()
	opt := o.opt
	opt.RetryStrategy = func() backoff.BackOff { return &verdict{again: &again} }
	for i, p := range o.parts {
		at, asks := time.Now(), held
		if i > 0 {
			asks = pace.WhileHolding(held)
			if o.opt.Token == "" {
				asks = owners.Fresh(asks, opt.Token)
			}
		}
		lock, err := p.Client.ObtainMixed(asks, p.Write, p.Read, o.ttl, &opt)
		if err != nil {
			lost := held.Err() != nil && ctx.Err() == nil
			return nil, again || lost, fmt.Errorf("%s: %w", name(o.parts, i), err)
		}
		again = false // of tries that Queue has made
		l.locks, asked = append(l.locks, lock), append(asked, at)
		if len(o.parts) == 1 {
			break
		}
		if opt.Token == "" {
			opt.Token = lock.Token()
		}
		if o.opt.Watchdog {
			held = lock.Context(held) //nolint:fatcontext // one for each part
		} else if err := o.freshen(ctx, l, asked); err != nil {
			return nil, true, err
		}
	}
	if err := l.live(held); err != nil {
		return nil, true, err
	}
	return l, false, nil
}

// freshen refreshes the parts of whose lease a third has passed, which nobody else does without a
// watchdog.
func (o *obtaining) freshen(ctx context.Context, l *Lock, asked []time.Time) error {
	at := time.Now()
	old := func(i int) bool { return at.Sub(asked[i]) > o.ttl/3 }
	some := false
	for i := range asked {
		some = some || old(i)
	}
	if !some {
		return nil
	}
	err := l.each(func(i int, lock *redislock.Lock) error {
		if !old(i) {
			return nil
		}
		asked[i] = time.Now()
		return lock.Refresh(ctx, o.ttl)
	})
	if errors.Is(err, redislock.ErrLockNotHeld) {
		return fmt.Errorf("%w: lost before all parts were there: %w", redislock.ErrNotObtained, err)
	}
	return err
}

// A verdict is the strategy of one part. It waits for nothing, but takes note of being asked: so it
// is the Client that decides which errors may pass.
type verdict struct{ again *bool }

func (v *verdict) NextBackOff() time.Duration {
	*v.again = true
	return backoff.Stop
}

func (v *verdict) Reset() {}
