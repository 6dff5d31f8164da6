package reentrant

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// maxTTL is the longest time that package redislock counts.
const maxTTL = clock.Longest

// Obtain holds the write locks of all keys for the owner of ctx, or adds none.
//
// Keys that the owner holds as write keys are obtained at once. Keys that it reads are upgraded, in
// one attempt, whatever the RetryStrategy. If somebody else reads one of them, or another key that
// was obtained together with one of them, the error is a [*redislock.ConflictError]. The other keys
// are obtained together by [redislock.Client.Obtain], under its terms and with its errors. If
// another goroutine of the owner is obtaining or releasing one of the keys, Obtain waits for that
// first, until it is done or ctx ends, whatever the RetryStrategy. If ctx ends the error is a
// [redislock.ErrNotObtained] and matches the cause of ctx. [redislock.Options].Wait bounds this
// waiting as well, all together: see below.
//
// The ttl makes the lease of keys that are held longer, never shorter. Redis is asked for that if
// the ttl is longer than theirs, or if they have no watchdog and less than two thirds of the ttl
// are left.
//
// Watchdog and Wait apply to all keys, all other options to keys that the owner does not hold yet. Keys
// that it holds keep their metadata and their fencing numbers. The watchdog stays on until the last hold
// of a key, and of the keys that were obtained with it, has ended. Wait bounds all that Obtain does:
// waiting for other goroutines of the owner, and each request. The last request, an upgrade or a longer
// lease, has 0.1 s in any case. If the time is over the error is a [redislock.ErrWaitOver].
//
// Two options can be an [errors.ErrUnsupported], and then nothing was changed: Fenced, if a key is held
// without a number, and HoldAtLeast, if a key was obtained with a shorter one. The time of HoldAtLeast
// counts from when the keys were obtained from Redis, not from when they are held once more.
//
// If a key that the owner holds was lost, the error is a [redislock.ErrLockLost] until all holds of
// it and of the keys obtained with it were released. Without an owner the error is [ErrNoOwner].
func Obtain(ctx context.Context, client *redislock.Client, keys []string, ttl time.Duration, opt *redislock.Options) (*Hold, error) {
	return obtain(ctx, client, redislock.Set{Write: keys}, ttl, opt)
}

// ObtainRead holds the read locks of all keys for the owner of ctx, or adds none. Keys that the
// owner reads or writes are obtained at once. Everything else is as in [Obtain].
func ObtainRead(ctx context.Context, client *redislock.Client, keys []string, ttl time.Duration, opt *redislock.Options) (*Hold, error) {
	return obtain(ctx, client, redislock.Set{Read: keys}, ttl, opt)
}

// ObtainSet holds the write locks and the read locks of a set, or adds none. Everything else is as in
// [Obtain] and [ObtainRead].
func ObtainSet(ctx context.Context, client *redislock.Client, set redislock.Set, ttl time.Duration, opt *redislock.Options) (*Hold, error) {
	return obtain(ctx, client, set, ttl, opt)
}

// With obtains the keys, runs fn, and releases its hold, even if fn panics. While fn runs the lease
// is renewed. If a key is lost all the same, the context of fn is cancelled with cause
// [redislock.ErrLockLost]. The function may itself release the hold, which [FromContext] gives it.
//
// If the keys cannot be obtained With does not run fn, and returns the error of [Obtain]. If a key
// was lost while fn ran it returns a [redislock.ErrLockLost], joined with the error of fn.
// Otherwise it returns the error of fn, unchanged. A Release that could not be confirmed goes on in
// the background, and is reported to the hooks of the Client.
func With(ctx context.Context, client *redislock.Client, keys []string, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	return with(ctx, client, redislock.Set{Write: keys}, ttl, opt, fn)
}

// WithSet does what [With] does, with the write locks and the read locks of a set.
func WithSet(ctx context.Context, client *redislock.Client, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	return with(ctx, client, set, ttl, opt, fn)
}

// with does the work of every With. Only functions that the user calls call it.
func with(ctx context.Context, client *redislock.Client, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) (err error) {
	var watched redislock.Options
	if opt != nil {
		watched = *opt
	}
	watched.Watchdog = true
	hold, err := obtain(ctx, client, set, ttl, &watched)
	if err != nil {
		return err
	}
	held := hold.Context(ctx)
	defer func() {
		released, failed := hold.wasReleased() // by fn, which has found it in its context
		if !released {
			failed = hold.Release(ctx)
		}
		if errors.Is(failed, redislock.ErrLockNotHeld) {
			err = errors.Join(failed, err)
		}
	}()
	return fn(held)
}

// A request is one Obtain.
type request struct {
	client *redislock.Client
	set    redislock.Set
	ttl    time.Duration
	opt    redislock.Options
	limit  pace.Limit // of Options.Wait
}

// obtain does the work of every Obtain. Only with, and functions that the user calls, call it.
func obtain(ctx context.Context, client *redislock.Client, set redislock.Set, ttl time.Duration, opt *redislock.Options) (*Hold, error) {
	o := ownerOf(ctx)
	if o == nil {
		r := request{set: set}
		return nil, r.failed(ErrNoOwner)
	}
	r := request{client: client, set: set, ttl: ttl}
	if opt != nil {
		r.opt = *opt
	}
	if err := r.check(ctx); err != nil {
		return nil, r.failed(err)
	}
	h := &Hold{owner: o}
	runtime.Callers(3, h.where[:])
	r.limit = pace.Within(r.opt.Wait, redislock.ErrWaitOver)
	s, err := h.enter(ctx, &r)
	if err != nil {
		return nil, r.failed(err)
	}
	if !h.listed {
		if err := h.complete(ctx, &r, s); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// check refuses what can be refused without the table.
func (r *request) check(ctx context.Context) error {
	ttl := clock.CheckTTL(r.ttl)
	name, why := clock.CheckTimes(r.opt.Wait, r.opt.HoldAtLeast)
	switch {
	case len(r.set.Write)+len(r.set.Read) == 0:
		return &redislock.InvalidError{Argument: "keys", Reason: "the set is empty"}
	case ttl != nil:
		return &redislock.InvalidError{Argument: "ttl", Reason: ttl.Error()}
	case why != "":
		return &redislock.InvalidError{Argument: name, Reason: why}
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", redislock.ErrNotObtained, context.Cause(ctx))
	}
	return nil
}

// failed is the error of an Obtain, unless it is an error of redislock's Obtain.
func (r *request) failed(err error) error {
	first, n := "", len(r.set.Write)+len(r.set.Read)
	switch {
	case len(r.set.Write) > 0:
		first = r.set.Write[0]
	case len(r.set.Read) > 0:
		first = r.set.Read[0]
	}
	return fmt.Errorf("reentrant: obtain %s: %w", named(first, n), err)
}

// enter waits until no key of the request is busy, and pins the keys that are held. If nothing else
// is to be done, it lists the hold.
func (h *Hold) enter(ctx context.Context, r *request) (sight, error) {
	o := h.owner
	ctx, stop := r.limit.Context(ctx, 0)
	defer stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	s := o.lookLocked(r, h)
	for s.busy != nil {
		o.mu.Unlock()
		var err error
		select {
		case <-s.busy:
		case <-ctx.Done():
			err = fmt.Errorf("%w: another goroutine of this owner is obtaining or releasing a key of it: %w",
				redislock.ErrNotObtained, context.Cause(ctx))
		}
		o.mu.Lock()
		if err != nil {
			return s, err
		}
		s = o.lookLocked(r, h)
	}
	settled := len(s.write)+len(s.read)+len(s.upgrades) == 0
	for _, c := range s.carriers {
		switch {
		case c.isLost():
			return s, c.whyLost()
		case r.opt.Fenced && c.root.Fence() == 0:
			return s, fmt.Errorf("this owner holds a key without a number, Options.Fenced: %w", errors.ErrUnsupported)
		case r.opt.HoldAtLeast > c.atLeast:
			return s, fmt.Errorf("this owner holds a key that was obtained with %s, Options.HoldAtLeast: %w", c.atLeast, errors.ErrUnsupported)
		}
		settled = settled && c.sufficesLocked(r.ttl) && (c.renewed || !r.opt.Watchdog)
	}
	pinLocked(s.entries)
	h.entries, h.carriers = s.entries, s.carriers
	if settled {
		h.listLocked()
	} else {
		o.occupyLocked(r.places(&s), s.begin())
	}
	return s, nil
}

// begin makes the channel on which others wait.
func (s *sight) begin() chan struct{} {
	s.busy = make(chan struct{})
	return s.busy
}

// places returns the places of the missing keys.
func (r *request) places(s *sight) []place {
	places := make([]place, 0, len(s.write)+len(s.read))
	for _, keys := range [][]string{s.write, s.read} {
		for _, key := range keys {
			places = append(places, place{r.client, key})
		}
	}
	return places
}

// complete does what Redis is needed for. It obtains the missing keys first: that can take long, and
// if it fails nothing was changed.
func (h *Hold) complete(ctx context.Context, r *request, s sight) error {
	defer h.abandon(ctx)
	if err := h.obtainRest(ctx, r, &s); err != nil {
		return err // as it is: it names what was in the way
	}
	if err := h.suffice(ctx, r, &s); err != nil {
		return r.failed(err)
	}

	o := h.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range h.carriers {
		if c.isLost() { // while the missing keys were obtained
			return r.failed(c.whyLost())
		}
		if r.opt.Watchdog {
			c.keepLocked()
		}
	}
	h.listLocked()
	return nil
}

// suffice upgrades and extends what was held before, as the request wants it.
func (h *Hold) suffice(ctx context.Context, r *request, s *sight) error {
	ctx, stop := r.limit.Context(ctx, pace.OneStep)
	defer stop()
	for _, c := range s.upgrades {
		if err := c.upgrade(ctx); err != nil {
			return err
		}
	}
	for _, c := range s.carriers {
		if err := c.extend(ctx, r.ttl); err != nil {
			return err
		}
	}
	return nil
}

// obtainRest obtains the missing keys, as one set, and pins them. Others wait for them meanwhile, so
// it ends that waiting also if a strategy or a hook panics.
func (h *Hold) obtainRest(ctx context.Context, r *request, s *sight) (err error) {
	o := h.owner
	var root *redislock.Lock
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.vacateLocked(r.places(s), s.busy)
		if root != nil {
			pinLocked(o.newCarrierLocked(root, r, s.write).entries)
			s.carriers = slices.Clone(s.carriers) // which may be the carriers of the hold
			all := o.lookLocked(r, h)             // everything is there; for the order
			h.entries, h.carriers = all.entries, all.carriers
		}
	}()
	if len(s.write)+len(s.read) > 0 {
		opt := r.opt
		opt.Wait = r.limit.Left()
		root, err = r.client.ObtainSet(ctx, redislock.Set{Write: s.write, Read: s.read}, r.ttl, &opt)
	}
	return err
}
