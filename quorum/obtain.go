package quorum

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/serial"
)

// Obtain takes the write locks of all keys for ttl, if a majority of the nodes grants all of them.
//
// Obtain asks all nodes at once, as often as the RetryStrategy of its options allows, and returns
// at the latest some 300 ms after ctx has ended. The options are as for [redislock.Client.Obtain],
// with these differences:
//
//   - RetryStrategy: before each wait Obtain releases what was granted. The strategy is called once
//     for each Obtain. Each wait has a jitter, so that after a split vote one caller asks first.
//   - Wait bounds the whole Obtain, at all nodes. The first attempt has at least 100 ms for its
//     answers. If a majority has granted the lock when the time is over, it counts.
//   - Name is the name in the events of this Client and of the nodes.
//   - HoldAtLeast counts for the whole lock: a Release that comes sooner leaves the keys at a
//     majority for the rest, as [Lock.Leave] does.
//   - Watchdog: it also wins back nodes that did not grant the lock or have lost it.
//   - Fenced: see [Lock.Fence].
//   - The caller's id ([redislock.WithCaller]) of ctx is stored at every node, also at one that is
//     won back later.
//   - Queue and Intent are an [errors.ErrUnsupported], because there is no order over several
//     servers.
//
// The error says how many nodes have granted the lock, and why the others have not. If other holders
// were in the way, or answers came too late, it is a [redislock.ErrNotObtained], with the first
// [*redislock.ConflictError]. If nodes that have not answered in time could have made the majority, it
// is a [redislock.ErrUnknownOutcome]. Otherwise it contains the errors of the nodes that could not be
// asked. If ctx has ended the error also matches the cause of ctx, and if the time of Wait is over
// [redislock.ErrWaitOver]. [NodeErrors] returns what each node has said. Bad arguments are refused
// before anything is sent.
//
// After an error nothing stays locked: Obtain releases the keys everywhere, even where the answer
// never came. Obtain waits for the nodes that were the first majority to answer, but no longer than
// the node time-out; the rest goes on in the background.
func (c *Client) Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (*Lock, error) {
	return c.ObtainSet(ctx, redislock.Set{Write: keys}, ttl, opt)
}

// ObtainRead takes the read locks of all keys for ttl. Several readers may hold a key at the same
// time, but no writer. Everything else is as in [Client.Obtain].
func (c *Client) ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (*Lock, error) {
	return c.ObtainSet(ctx, redislock.Set{Read: keys}, ttl, opt)
}

// ObtainSet takes the write locks and the read locks of a set. Everything else is as in
// [Client.Obtain] and [Client.ObtainRead].
func (c *Client) ObtainSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options) (*Lock, error) {
	return c.obtain(ctx, "", set, ttl, opt)
}

// obtain does the work of every Obtain. The token is empty if each node is to have one of its own.
func (c *Client) obtain(ctx context.Context, token string, set redislock.Set, ttl time.Duration, opt *redislock.Options) (*Lock, error) {
	if err := c.usable(); err != nil {
		return nil, fmt.Errorf("quorum: obtain: %w", err)
	}
	o := obtaining{
		quorum: c, began: clock.Now(),
		want: want{
			token: token, set: redislock.Set{Write: slices.Clone(set.Write), Read: slices.Clone(set.Read)},
			ttl: ttl, caller: inctx.Caller(ctx), id: serial.Next(),
		},
	}
	if opt != nil {
		o.want.opt = *opt
		o.want.opt.RetryStrategy = pace.Strategy(opt.RetryStrategy, opt.Wait)
		o.pace = pace.New(o.want.opt.RetryStrategy)
	}
	if err := o.check(); err != nil {
		return nil, o.failed(err)
	}
	o.want.patience = c.patience(ttl)
	return o.obtain(ctx)
}

// errPanicked is the error, for the hooks alone, of an Obtain that does not return.
var errPanicked = errors.New("quorum: obtain: a RetryStrategy or a hook has panicked")

// obtain tells the hooks how the Obtain has ended, also if a strategy or a hook panics.
func (o *obtaining) obtain(ctx context.Context) (lock *Lock, err error) {
	err = errPanicked
	told := false
	defer func() {
		if !told && lock != nil { // a hook has panicked, and nobody gets the lock
			lock.freeAtOnce()
			_ = lock.Release(ctx)
		}
	}()
	defer func() {
		o.ends(ctx, lock, err)
		told = true
		if lock != nil {
			lock.announce()
		}
	}()
	if lock, err = o.run(ctx); err != nil {
		err = o.failed(err)
	}
	return lock, err
}

// failed is the error of the whole Obtain.
func (o *obtaining) failed(err error) error {
	return fmt.Errorf("quorum: obtain%s: %w", o.want.name(), err)
}

// With obtains the keys, runs fn, and releases the keys, even if fn panics. While fn runs the
// watchdog renews the leases. If the lock is lost all the same, the context of fn is cancelled with
// cause [redislock.ErrLockLost]. [FromContext] finds the lock in the context of fn. ctx bounds both the
// waiting and fn, [redislock.Options].Wait the waiting alone. The function may itself release or leave
// the lock.
//
// Errors are as for [redislock.Client.With]. If fn was not run, it is the error of Obtain. If the
// lock was lost it is an ErrLockLost, joined with the error of fn. Otherwise it is the error of fn,
// unchanged.
func (c *Client) With(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	return c.with(ctx, "", redislock.Set{Write: keys}, ttl, opt, fn)
}

// WithSet does what [Client.With] does, with the write locks and the read locks of a set.
func (c *Client) WithSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	return c.with(ctx, "", set, ttl, opt, fn)
}

// with does the work of every With.
func (c *Client) with(ctx context.Context, token string, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) (err error) {
	var watched redislock.Options
	if opt != nil {
		watched = *opt
	}
	watched.Watchdog = true
	lock, err := c.obtain(ctx, token, set, ttl, &watched)
	if err != nil {
		return err
	}
	held := lock.Context(ctx)
	defer func() {
		if lock.wasReleased() {
			return // by fn, which has found it in its context
		}
		if failed := lock.Release(ctx); errors.Is(failed, redislock.ErrLockNotHeld) {
			err = errors.Join(lock.whyLost(failed), err)
		}
		// Else the nodes go on with what was not confirmed, and their hooks tell.
	}()
	return fn(held)
}

// An obtaining is one Obtain under way.
type obtaining struct {
	quorum      *Client
	want        want
	pace        pace.Pace
	wait        time.Duration // Options.Wait
	holdAtLeast time.Duration

	began    clock.Moment
	asked    int
	conflict error // of the last attempt that had one

	waits clock.Moment // since then, as the hooks were told; zero: it does not, or there are no hooks
	keys  []string     // for hooks; nil before they want it
}

// run asks until the lock is there, or the strategy, the time of Options.Wait or the context ends.
func (o *obtaining) run(ctx context.Context) (*Lock, error) {
	var err error
	for {
		if over := o.over(ctx); over != nil {
			return nil, o.ended(over, err)
		}
		if o.quorum.closed.Load() {
			return nil, errClosed
		}
		o.asked++
		lock, failed := o.ask(ctx)
		if failed == nil {
			return lock, nil
		}
		err = failed
		if errors.Is(err, redislock.ErrNotObtained) {
			o.conflict = err
		}
		if over := o.over(ctx); over != nil && !failed.bad {
			return nil, o.ended(over, err)
		}
		wait := pace.Stop
		if failed.again {
			wait = o.pace.Next()
		}
		if wait < 0 {
			return nil, o.pace.Stopped(err)
		}
		o.begins(ctx, err)
		o.pace.Sleep(ctx, min(pace.Cut(jitter(wait), failed.free), o.left()))
	}
}

// over returns why the nodes are not to be asked again; nil if they are. The time of Options.Wait is never over before
// the first attempt.
func (o *obtaining) over(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case o.asked > 0 && o.left() <= 0:
		return redislock.ErrWaitOver
	}
	return nil
}

// left is what is left of the time of Options.Wait. A wall clock that is set forward does not end it.
func (o *obtaining) left() time.Duration {
	if o.wait == 0 {
		return mostTTL
	}
	return clock.Now().Until(o.began.Add(o.wait))
}

// ask makes an attempt. It ends when the time of Options.Wait is over, but has in any case as long as an operation has
// after its context has ended.
func (o *obtaining) ask(ctx context.Context) (*Lock, *refusal) {
	if o.wait == 0 {
		return o.attempt(ctx, ctx)
	}
	asking, stop := context.WithTimeoutCause(ctx, max(o.left(), grace), redislock.ErrWaitOver)
	defer stop()
	return o.attempt(ctx, asking)
}

// check refuses what no majority can do. The Clients of the nodes check the rest, all alike, before
// they send anything.
func (o *obtaining) check() error {
	opt := &o.want.opt
	switch {
	case opt.Queue:
		return fmt.Errorf("option Queue: %w", errors.ErrUnsupported)
	case opt.Intent:
		return fmt.Errorf("option Intent: %w", errors.ErrUnsupported)
	}
	if err := checkTimes(opt); err != nil {
		return err
	}
	if err := o.quorum.checkTTL(o.want.ttl); err != nil {
		return err
	}
	// The nodes are not told of these.
	o.wait, o.holdAtLeast = opt.Wait, opt.HoldAtLeast
	opt.Wait, opt.HoldAtLeast = 0, 0
	if err := o.quorum.checkOutlasts("HoldAtLeast", o.holdAtLeast); err != nil {
		return err
	}
	if o.quorum.closed.Load() {
		return errClosed
	}
	return nil
}

// checkTimes refuses what the nodes would refuse if they were told.
func checkTimes(opt *redislock.Options) error {
	name, why := clock.CheckTimes(opt.Wait, opt.HoldAtLeast)
	switch {
	case why != "":
		return &redislock.InvalidError{Argument: name, Reason: why}
	case len(opt.Name) > mostName:
		return invalid("Name", "it has %d bytes, the limit is %d", len(opt.Name), mostName)
	}
	return nil
}

func invalid(argument, format string, args ...any) error {
	return &redislock.InvalidError{Argument: argument, Reason: fmt.Sprintf(format, args...)}
}

// jitter makes a wait between half as long and half as long again, but not shorter than the shortest
// wait. Otherwise callers that have taken nodes from each other would do so again.
func jitter(wait time.Duration) time.Duration {
	wait = min(wait, mostTTL)
	return max(wait/2, pace.Least) + rand.N(wait+time.Millisecond)
}

// ended is the error of an Obtain that has ended for this cause. It also says why the Obtain had not
// succeeded before: that the outcome is not known, or else the last conflict, if there was one.
func (o *obtaining) ended(cause, why error) error {
	switch {
	case errors.Is(why, redislock.ErrUnknownOutcome):
	case o.conflict != nil:
		why = o.conflict
	case why == nil:
		why = redislock.ErrNotObtained
	}
	if errors.Is(why, cause) {
		return why
	}
	return fmt.Errorf("%w after %s and %s: %w",
		cause, clock.Now().Since(o.began).Round(time.Millisecond), count.Of(o.asked, "attempt"), why)
}
