package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/lease"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// Obtain takes the write locks of all keys, or of none. Their ttl is 1 ms to 365 days; a fraction of a millisecond
// above 1 ms is rounded up. Obtain makes one attempt, or as many as its [Options] allow. It returns at the latest 100
// ms after ctx, or the time of [Options].Wait, has ended. If no server answers, it gives up even if ctx does not end:
// docs/waiting.md says when.
//
// If somebody else holds a key the error is an [ErrNotObtained] and a [*ConflictError]. If ctx ended meanwhile,
// the error matches the cause of ctx, too. If no answer came the error is an [ErrUnknownOutcome]. Bad arguments
// are an [ErrInvalid], and nothing is sent. After an error nothing stays locked.
func (c *Client) Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return c.obtain(ctx, "", Set{Write: keys}, ttl, opt)
}

// ObtainRead takes the read locks of all keys, or of none, for ttl. Several readers may hold a key at the
// same time, each with a lease of its own, but no writer. Everything else is as in [Client.Obtain].
func (c *Client) ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return c.obtain(ctx, "", Set{Read: keys}, ttl, opt)
}

// ObtainSet takes the write locks and the read locks of a set, or none of them. Everything else is as
// in [Client.Obtain] and [Client.ObtainRead].
func (c *Client) ObtainSet(ctx context.Context, set Set, ttl time.Duration, opt *Options) (*Lock, error) {
	return c.obtain(ctx, "", set, ttl, opt)
}

// Obtain does what [Client.Obtain] does, with a Client that is made for this one lock.
func Obtain(ctx context.Context, rdb redis.Scripter, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return New(rdb).Obtain(ctx, keys, ttl, opt)
}

// With obtains the keys, runs fn, and releases the keys, even if fn panics. ctx bounds both the waiting and fn. The
// watchdog renews the lease while fn runs. If the lock is lost all the same, the context of fn is cancelled with
// cause [ErrLockLost]. fn finds its lock with [FromContext], and may end it by [Lock.Release] or [Lock.Leave].
//
// If the keys cannot be obtained With returns the error of [Client.Obtain]. If the lock was lost while fn ran it
// returns an [ErrLockLost], joined with the error of fn. Otherwise it returns the error of fn, unchanged.
func (c *Client) With(ctx context.Context, keys []string, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	return c.with(ctx, "", Set{Write: keys}, ttl, opt, fn)
}

// WithSet does what [Client.With] does, with the write locks and the read locks of a set.
func (c *Client) WithSet(ctx context.Context, set Set, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	return c.with(ctx, "", set, ttl, opt, fn)
}

// with does the work of every With.
func (c *Client) with(ctx context.Context, token string, set Set, ttl time.Duration, opt *Options, fn func(context.Context) error) (err error) {
	var watched Options
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
		lock.mu.Lock()
		state, over := lock.state, lock.over
		lock.mu.Unlock()
		if state != lost && over == errReleased { //nolint:errorlint // it is this value, or the error of a Release
			return // fn has ended the lock, which is in its context
		}
		switch failed := lock.Release(ctx); {
		case state != lost && errors.Is(failed, errReleased): // fn has ended it meanwhile
		case state == lost, errors.Is(failed, ErrLockNotHeld):
			lock.mu.Lock()
			why := cmp.Or(lock.why, error(&lossError{lock.set, failed})) // the Release may have found it out
			lock.mu.Unlock()
			err = errors.Join(why, err)
		case failed != nil:
			c.log.WarnContext(ctx, "redislock: release not confirmed", lock.snapshot().logged("error", failed)...)
		}
	}()
	return fn(held)
}

// obtain does the work of every Obtain. The token is empty if the lock is to have one of its own.
func (c *Client) obtain(ctx context.Context, token string, set Set, ttl time.Duration, opt *Options) (*Lock, error) {
	var first sent
	if token == "" && len(set.Read) == 0 {
		var lock *Lock
		if lock, first = c.obtainShort(ctx, set.Write, ttl, opt); lock != nil {
			return lock, nil
		}
	}
	return c.obtainLong(ctx, token, set, ttl, opt, first)
}

// An Owner obtains locks under one token of the caller's choice: see [Client.As]. Its methods do what the methods of a
// [Client] do. Keys that the token holds already count as free, so a set may grow, shrink, or change its metadata or
// its modes. All locks under one token are one owner: if one of them releases a key, the others lose it. Give each
// process a token of its own. docs/clients.md has the rest.
type Owner struct {
	client *Client
	token  string
}

// As returns the owner of a token of the caller's choice, which has 1 to 512 bytes without '|'. With any other token
// every Obtain of the Owner is an [ErrInvalid]. [Client.Attach] finds its locks again, in any process. A token gives
// every right to what it holds, so do not log it. Each server needs its own: see docs/clients.md. Without As each lock
// has a random token.
func (c *Client) As(token string) Owner { return Owner{c, token} }

// Obtain does what [Client.Obtain] does.
func (o Owner) Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return o.ObtainSet(ctx, Set{Write: keys}, ttl, opt)
}

// ObtainRead does what [Client.ObtainRead] does.
func (o Owner) ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return o.ObtainSet(ctx, Set{Read: keys}, ttl, opt)
}

// ObtainSet does what [Client.ObtainSet] does.
func (o Owner) ObtainSet(ctx context.Context, set Set, ttl time.Duration, opt *Options) (*Lock, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return o.client.obtain(ctx, o.token, set, ttl, opt)
}

// With does what [Client.With] does.
func (o Owner) With(ctx context.Context, keys []string, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	return o.WithSet(ctx, Set{Write: keys}, ttl, opt, fn)
}

// WithSet does what [Client.WithSet] does.
func (o Owner) WithSet(ctx context.Context, set Set, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	if err := o.check(); err != nil {
		return err
	}
	return o.client.with(ctx, o.token, set, ttl, opt, fn)
}

// check refuses a token that no lock can have. An empty one is such a token: it would mean a random token for each lock.
func (o Owner) check() error {
	if err := checkToken(o.token); err != nil {
		return fmt.Errorf("redislock: obtain: %w", &pace.NotAskedError{Err: err})
	}
	return nil
}

// What follows is the short way of what most programs do: they obtain keys that are free, and release them. All that fewer
// programs ask for is the long way, in obtaining.go and release.go. The short way sends one request. If the answer is
// anything else than that all was done, the long way takes the request over.

// A sent is a request of the short way that the long way takes over. The zero sent is none.
type sent struct {
	call *call
	end  wire.End
	lock *Lock // that it was to obtain
}

// obtainShort makes the first attempt at keys to write. It returns the lock. If that is not there, it returns what was
// sent for it, or nothing if the set or an option has to go the long way.
func (c *Client) obtainShort(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, sent) {
	if c == nil || !c.short || c.closed.Load() || opt != nil && !c.isShortFor(opt) || ctx.Err() != nil || wire.IsStaying(ctx) {
		return nil, sent{}
	}
	if _, has := inctx.LookupCaller(ctx); has || len(keys) > 1 && c.placement != anywhere {
		return nil, sent{}
	}
	metadata, watchdog := c.metadata, false
	if opt != nil {
		if watchdog = opt.Watchdog; opt.Metadata != "" {
			metadata = opt.Metadata
		}
	}
	l := &Lock{asker: asker{client: c}}
	set, err := c.newKeySet(Set{Write: keys}, l.names[:0])
	if err != nil || ttl < minTTL || ttl > maxTTL || len(metadata) > mostMetadata {
		return nil, sent{} // the long way says what is wrong
	}
	ttl = (ttl + minTTL - 1).Truncate(minTTL)
	l.set, l.value, l.lease.TTL = set, owners.NewToken(), ttl
	if metadata != "" {
		l.value = proto.EncodeValue(l.value, "", metadata)
	}
	r := c.newCall()
	r.run.Plain(set.Keys, set.Lines, &l.value, ttl)
	r.begins(ctx).of, r.Tracker, r.Plain, r.Alike = &l.asker, r, true, true
	end := c.conn.Send(ctx, &r.Call, c.conn.Bound(ttl, len(set.Keys)), patience)
	if end != wire.Settled || r.Err != nil || r.Reply != proto.AllDone || r.IsUnanswered() {
		return nil, sent{r, end, l}
	}
	deadline := r.Sent.Add(clock.Window(ttl))
	if clock.Now().Reached(deadline) || ctx.Err() != nil {
		return nil, sent{r, end, l}
	}
	// As lease.Begin has it; a call less on the way that most go.
	l.lease = lease.Lease{TTL: ttl, Longest: ttl, Obtained: r.Sent, Deadline: deadline, Certain: ttl}
	c.recycle(r)
	if watchdog {
		l.mu.Lock()
		l.watchLocked(true)
		l.mu.Unlock()
	}
	return l, sent{}
}

// isShortFor reports whether an Obtain with these options may go the short way. One that is to stand in line, if it has
// to, enters the line with its first request where messages are heard already.
func (c *Client) isShortFor(opt *Options) bool {
	return (!opt.Queue || c.hub.IsQuiet()) && !opt.Intent && !opt.Fenced && opt.Wait == 0 && opt.HoldAtLeast == 0 && opt.PassOn == 0 &&
		(opt.RetryStrategy == nil || !c.local.Polled()) && len(opt.Name) <= mostName
}

// releaseShort frees a lock that has gone the short way so far. It reports whether the keys are free. If they are not
// known to be, it returns what was sent for that, or nothing if the lock has to go the long way.
func (l *Lock) releaseShort(ctx context.Context) (free bool, p part, s sent) {
	if l == nil || l.client == nil || !l.client.short || wire.IsStaying(ctx) {
		return false, p, s
	}
	l.mu.Lock()
	if l.client.inLine.Load() > 0 || l.line != nil || l.state != held || l.tokenKnown.Load() || l.owner.Load() != nil ||
		l.keep != (clock.Moment{}) || l.set.Writes < len(l.set.Keys) || l.set.IsFenced() {
		l.mu.Unlock()
		return false, p, s
	}
	p, end := l.stopLocked()
	l.mu.Unlock()
	end(context.Canceled)
	r := l.client.newCall()
	r.run.Plain(p.set.Keys, p.set.Lines, &l.value, 0)
	r.begins(ctx).of, r.Tracker, r.Plain = &l.asker, r, true
	s = sent{call: r, end: l.client.conn.Send(ctx, &r.Call, wire.Bound{}, patienceOf(ctx))}
	if s.end != wire.Settled || r.Err != nil || r.Reply != proto.AllDone || r.IsUnanswered() {
		return false, p, s
	}
	l.client.recycle(r)
	l.mu.Lock()
	l.over = errReleased
	l.mu.Unlock()
	return true, p, s
}
