package multi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/shown"
)

// Obtain takes all parts, or none, for ttl. It takes them in the fixed order, each in one step,
// under one token and with the same metadata. The other options are as for
// [redislock.Client.Obtain], with these differences:
//
//   - RetryStrategy: if a part cannot be had, the parts before it are released, and Obtain asks for
//     all parts again. The strategy is called once for each Obtain.
//   - Wait bounds the obtaining of all parts together, over all rounds. In the first round each part is
//     asked for in any case, and its server has 0.1 s to answer.
//   - HoldAtLeast counts from when Obtain returns: see [Lock.Release]. The parts of a round that has
//     failed are free at once.
//   - Name is in the events of the parts as well: see [Client].
//   - Watchdog: if a part is lost while another one is asked for, Obtain begins anew if the
//     RetryStrategy says so. Otherwise the error is a [redislock.ErrLockLost] as well.
//   - Queue needs Watchdog, which renews the parts that are held while Obtain waits for another
//     one.
//   - Intent is an [errors.ErrUnsupported]: use Queue.
//
// Bad parts are refused before anything is sent. If somebody else holds a part the error is a
// [redislock.ErrNotObtained] and a [*redislock.ConflictError] with its key. If ctx ended meanwhile,
// the error matches the cause of ctx, too; or [redislock.ErrWaitOver], if the time of Wait was over.
// It is also an ErrNotObtained if the lease of a part was over before the last part was obtained. If
// no answer came the error is a [redislock.ErrUnknownOutcome].
//
// If a server does not answer, Obtain gives up its part as [redislock.Client.Obtain] does: after the
// ttl, or after one read time-out of its Redis client if that is longer. So the parts before it are
// not locked in vain for longer than that, even if ctx does not end. The same is true while Obtain
// stands in line for a part, except for the first part. In line a server is asked every 5 s. If it
// does not answer then, Obtain gives up the place in line. In both cases Obtain begins anew if the
// RetryStrategy says so.
//
// After an error nothing stays locked. Parts that were taken are released before Obtain returns, even
// if ctx has ended. Obtain waits 1.1 s in all for servers that do not answer, and the other parts are
// free meanwhile. The Clients of these servers go on in the background, also with a request that was
// under way. So Obtain may return 1.1 s after the end of ctx.
func Obtain(ctx context.Context, parts []Part, ttl time.Duration, opt *redislock.Options) (*Lock, error) {
	return Client{}.Obtain(ctx, parts, ttl, opt)
}

// With obtains the parts, runs fn, and releases the parts, even if fn panics. While fn runs the
// watchdog renews every lease. If any part is lost all the same, the context of fn is cancelled
// with cause [redislock.ErrLockLost]. ctx bounds both the waiting and fn. The function may itself
// release or leave the lock, which [FromContext] gives it.
//
// Errors are as for [redislock.Client.With]. If fn was not run, it is the error of Obtain. If a part
// was lost it is an ErrLockLost, joined with the error of fn. Otherwise it is the error of fn,
// unchanged.
func With(ctx context.Context, parts []Part, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) (err error) {
	return Client{}.With(ctx, parts, ttl, opt, fn)
}

// An obtaining is one Obtain under way.
type obtaining struct {
	parts  []Part // in the order in which they are taken
	token  string // of the caller's choice, or empty
	ttl    time.Duration
	opt    redislock.Options
	events *events

	began    clock.Moment
	limit    pace.Limit // of Options.Wait
	rounds   int
	asked    bool         // somebody was asked, or was about to be
	waiting  bool         // and the hooks were told
	waits    clock.Moment // since then
	pace     pace.Pace
	conflict error // of the last round that had one
	last     error // of the last round
}

// errPanicked is the error, for the hooks alone, of an Obtain that does not return.
var errPanicked = errors.New("multi: obtain: a RetryStrategy or a hook has panicked")

// obtain asks for the whole, and tells how that has ended.
func (o *obtaining) obtain(ctx context.Context) (lock *Lock, err error) {
	o.began = clock.Now()
	o.limit = pace.Within(o.opt.Wait, redislock.ErrWaitOver)
	limited, stop := o.limit.Context(ctx, 0)
	defer stop()
	err = errPanicked
	defer func() { o.end(ctx, lock, err) }()
	lock, err = o.run(ctx, limited)
	return lock, err
}

// end tells the hooks how the Obtain has ended. If a hook panics the lock is given back, because nobody gets it.
func (o *obtaining) end(ctx context.Context, lock *Lock, err error) {
	told := false
	defer func() {
		if !told && lock != nil {
			lock.keep = clock.Moment{}
			_ = lock.Release(ctx)
		}
	}()
	o.report(ctx, lock, err)
	told = true
}

// report tells the hooks how it has ended.
func (o *obtaining) report(ctx context.Context, lock *Lock, err error) {
	e := o.events
	if e == nil {
		return
	}
	if o.waiting {
		e.tell(ctx, e.hooks.Waited, redislock.Event{Duration: e.since(o.waits), Attempts: o.rounds, Err: err})
	}
	hook := e.hooks.Obtained
	if err != nil {
		hook = e.hooks.Refused
	}
	if o.asked {
		about := redislock.Event{Duration: e.since(o.began), Attempts: o.rounds, Err: err}
		if lock != nil {
			about.Expires = lock.expires(nil)
		}
		e.tell(ctx, hook, about)
	}
	if lock != nil && o.opt.Watchdog && e.hooks.Lost != nil {
		lock.watch()
	}
}

// run asks until the whole is there, or the strategy, the limit or the context ends.
func (o *obtaining) run(ctx, limited context.Context) (*Lock, error) {
	for {
		o.rounds++
		lock, again, err := o.round(ctx)
		if err == nil {
			return lock, nil
		}
		left := time.Duration(-1) // of the lease of the holder
		if conflict, ok := errors.AsType[*redislock.ConflictError](err); ok {
			o.conflict, left = err, conflict.TTL
		}
		switch {
		case ctx.Err() != nil:
			return nil, o.ended(ctx, err)
		case errors.Is(err, redislock.ErrWaitOver):
			return nil, err
		}
		o.last = err
		wait := pace.Stop
		if again {
			wait = o.pace.Next()
		}
		if wait < 0 {
			return nil, o.pace.Stopped(err)
		}
		o.waitsNow(ctx, err)
		if !pace.Sleep(limited, pace.Cut(wait, left)) {
			return nil, o.ended(limited, err)
		}
	}
}

// waitsNow takes note that the Obtain waits, for its turn or for its next attempt.
func (o *obtaining) waitsNow(ctx context.Context, why error) {
	if o.events == nil || o.waiting || ctx.Err() != nil {
		return
	}
	o.asked, o.waiting, o.waits = true, true, clock.Now()
	o.events.tell(ctx, o.events.hooks.Waiting, redislock.Event{
		Duration: o.events.since(o.began), Attempts: o.rounds, Err: why,
	})
}

// ended is the error of an Obtain that its context has ended. It also says why the Obtain had not
// succeeded before, if the last round does not.
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
	err = fmt.Errorf("%w after %s and %s: %w",
		cause, shown.Duration(clock.Now().Since(o.began)), count.Of(o.rounds, "attempt"), err)
	if errors.Is(cause, redislock.ErrWaitOver) && !errors.Is(err, redislock.ErrNotObtained) && !errors.Is(err, redislock.ErrUnknownOutcome) {
		err = fmt.Errorf("%w: %w", redislock.ErrNotObtained, err) // nothing was executed
	}
	return err
}

// round asks for each part once, or stands in line for it. If it cannot have all parts it gives back
// the others. It reports whether it is worth asking again.
func (o *obtaining) round(ctx context.Context) (lock *Lock, again bool, err error) {
	l := &Lock{parts: o.parts, locks: make([]*redislock.Lock, 0, len(o.parts))}
	asked := make([]time.Time, 0, len(o.parts)) // when each part was asked for, because its lease counts from then
	defer func() {
		if lock == nil { // also if a hook panics
			l.undo(ctx)
		}
	}()
	held, stop := context.WithCancel(ctx) // ends with the loss of any part, too
	defer stop()
	token, opt := o.token, o.opt
	opt.HoldAtLeast = 0 // it concerns a lock that was returned, see Lock.Release
	if opt.RetryStrategy != nil {
		opt.RetryStrategy = func() redislock.BackOff { return &verdict{again: &again} }
	}
	for i, p := range o.parts {
		at, asks := time.Now(), o.asking(ctx, held)
		if i > 0 {
			asks = pace.WhileHolding(asks)
			if o.token == "" {
				asks = owners.Fresh(asks, token)
			}
		}
		opt.Wait = o.limit.Left()
		lock, err := p.obtain(asks, token, o.ttl, &opt)
		if _, no := errors.AsType[*pace.NotAskedError](err); !no {
			o.asked = true
		}
		if err != nil {
			lost := held.Err() != nil && ctx.Err() == nil
			return nil, again || lost, fmt.Errorf("%s: %w", name(o.parts, i), err)
		}
		again = false // of tries that Queue has made
		l.locks, asked = append(l.locks, lock), append(asked, at)
		if len(o.parts) == 1 {
			break
		}
		if token == "" {
			token = lock.Token()
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
	l.since, l.events = clock.Now(), o.events
	if o.opt.HoldAtLeast > 0 {
		l.keep = l.since.Add(o.opt.HoldAtLeast)
	}
	return l, false, nil
}

// asking is the context in which a part is asked for: it ends with the loss of an earlier part.
func (o *obtaining) asking(ctx, held context.Context) context.Context {
	if held.Value(inctx.Root{}) != ctx.Value(inctx.Root{}) {
		held = inctx.As(ctx, held) // hooks are not to find the lock of a part
	}
	var tell func(error)
	if o.events != nil && o.opt.Queue {
		tell = func(why error) { o.waitsNow(ctx, why) }
	}
	return pace.OnWaiting(held, tell)
}

// freshen refreshes a part if a third of its lease has passed. Without a watchdog nobody else does.
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
	ctx, stop := o.limit.Context(ctx, pace.OneStep)
	defer stop()
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

// A verdict is the strategy of one part. It never waits, but notes that it was asked. So the Client
// decides which errors may pass.
type verdict struct{ again *bool }

func (v *verdict) NextBackOff() time.Duration {
	*v.again = true
	return pace.Stop
}
