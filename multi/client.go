package multi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/pace"
)

// A Client obtains locks, and tells of each as of one lock. The zero Client tells nobody; [Obtain] and
// [With] are its methods. A Client is safe for concurrent use once its fields are set.
type Client struct {
	// Hooks are called for whole locks, whatever parts they have. Event.Keys are the keys of
	// [Lock.Keys], and Event.Attempts is the number of rounds. There are two differences to the hooks of
	// a [redislock.Client]:
	//
	//   - Refreshed is called by [Lock.Refresh] alone. The watchdog renews each part by itself.
	//   - Lost is called once, whatever is lost after that: when a loss is told to [Lock.Context],
	//     [Lock.Lost] or the watchdog, or when a Refresh has found it.
	//
	// The Clients of the parts call their own hooks for each part by itself, each time that the part is
	// taken and given back. [redislock.Hooks.And] puts several together. Default: none.
	Hooks redislock.Hooks
}

// Obtain is [Obtain] with the hooks of the Client.
func (c Client) Obtain(ctx context.Context, parts []Part, ttl time.Duration, opt *redislock.Options) (*Lock, error) {
	return c.obtain(ctx, "", parts, ttl, opt)
}

// obtain does the work of every Obtain. The token is empty if the lock is to have one of its own.
func (c Client) obtain(ctx context.Context, token string, parts []Part, ttl time.Duration, opt *redislock.Options) (*Lock, error) {
	o := obtaining{token: token, ttl: ttl}
	if opt != nil {
		o.opt = *opt
	}
	if err := o.prepare(c.Hooks, parts); err != nil {
		return nil, fmt.Errorf("multi: obtain: %w", err)
	}
	lock, err := o.obtain(ctx)
	if err != nil {
		return nil, fmt.Errorf("multi: obtain: %w", err)
	}
	return lock, nil
}

// With is [With] with the hooks of the Client.
func (c Client) With(ctx context.Context, parts []Part, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	return c.with(ctx, "", parts, ttl, opt, fn)
}

// An Owner obtains locks under one token of the caller's choice for all parts: see [Client.As] and
// [redislock.Owner]. An Obtain that fails releases the parts that it has taken, even keys that the token
// held before.
type Owner struct {
	client Client
	token  string
}

// As returns the owner of a token that the caller has chosen. [redislock.Client.As] says what a
// token may be.
func (c Client) As(token string) Owner { return Owner{c, token} }

// Obtain does what [Client.Obtain] does.
func (o Owner) Obtain(ctx context.Context, parts []Part, ttl time.Duration, opt *redislock.Options) (*Lock, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return o.client.obtain(ctx, o.token, parts, ttl, opt)
}

// With does what [Client.With] does.
func (o Owner) With(ctx context.Context, parts []Part, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	if err := o.check(); err != nil {
		return err
	}
	return o.client.with(ctx, o.token, parts, ttl, opt, fn)
}

// check refuses an empty token: it would mean a random token for each lock. The Clients refuse all other invalid tokens.
func (o Owner) check() error {
	if o.token == "" {
		return fmt.Errorf("multi: obtain: %w", invalid("token", "it is empty"))
	}
	return nil
}

// with does the work of every With.
func (c Client) with(ctx context.Context, token string, parts []Part, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) (err error) {
	var watched redislock.Options
	if opt != nil {
		watched = *opt
	}
	watched.Watchdog = true
	lock, err := c.obtain(ctx, token, parts, ttl, &watched)
	if err != nil {
		return err
	}
	held := lock.Context(ctx)
	defer func() {
		lost := lock.firstLost()
		if lost < 0 && lock.hasEnded() {
			return // by fn, which has found it in its context
		}
		failed := lock.Release(ctx)
		switch {
		case lost >= 0:
			why := redislock.ErrLockLost
			if cause := context.Cause(held); errors.Is(cause, redislock.ErrLockLost) {
				why = cause // which may say more
			}
			err = errors.Join(fmt.Errorf("multi: %s: %w", name(lock.parts, lost), why), failed, err)
		case errors.Is(failed, redislock.ErrLockNotHeld):
			err = errors.Join(fmt.Errorf("multi: %w: %w", redislock.ErrLockLost, failed), err)
		}
		// Else the Clients go on with what was not confirmed, and their hooks tell.
	}()
	return fn(held)
}

// prepare checks what can be checked without a Client, and sends nothing.
func (o *obtaining) prepare(hooks redislock.Hooks, parts []Part) error {
	switch opt := &o.opt; {
	case opt.Intent:
		return fmt.Errorf("%w: Intent, use Queue", errors.ErrUnsupported)
	case opt.Queue && !opt.Watchdog:
		return errors.New("option Queue needs Watchdog: what is held has to be renewed while the rest is waited for")
	}
	if name, why := clock.CheckTimes(o.opt.Wait, o.opt.HoldAtLeast); why != "" {
		return &redislock.InvalidError{Argument: name, Reason: why}
	}
	var err error
	if o.parts, err = arrange(parts); err != nil {
		return err
	}
	if !o.opt.Queue {
		o.opt.RetryStrategy = pace.Strategy(o.opt.RetryStrategy, o.opt.Wait)
	}
	o.pace = pace.New(o.opt.RetryStrategy)
	o.events = newEvents(hooks, o.parts, &o.opt)
	return nil
}
