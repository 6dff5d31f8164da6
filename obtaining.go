package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// intentGrace is by how much an intent outlives the wait of the writer that declares it.
const intentGrace = time.Second

// An obtaining is one Obtain under way: how often it has asked, and what it may have left in
// Redis.
type obtaining struct {
	client  *Client
	set     keySet
	intents []string // companions of the read keys; and, if declares, of the write keys
	value   string
	ttl     time.Duration

	pace     pace.Pace
	watchdog bool
	lock     *Lock  // that may come of it
	token    string // if the caller has chosen it, else empty
	owner    *owners.Owner
	claim    *owners.Claim // if the caller has chosen the token

	began    clock.Moment
	asked    int
	conflict *ConflictError // the last one
	last     error          // of the last attempt

	queues   bool // it stands in line if it has to
	place    standing
	waiter   *listen.Waiter
	hears    bool          // its waiter can be told
	hint     time.Duration // when to ask again if nothing is heard
	failures int           // since the last answer
	faults   int           // of its subscription, since a message was heard
	late     int           // how many answers have come too late
	rejoin   clock.Moment  // when to subscribe again, after too many of them

	fenced bool

	replicas  int
	minUptime time.Duration

	declares bool // an intent while it waits
	declared bool // one may be there
	partly   bool // something may be taken: a script failed, or was not answered, or its answer is of no use

	gone   clock.Moment // when it was seen that ctx has ended; zero: not yet
	silent bool         // nobody has answered the last attempt
}

// obtain is what every Obtain comes to.
func (c *Client) obtain(ctx context.Context, write, read []string, ttl time.Duration, opt *Options) (*Lock, error) {
	o, err := c.newObtaining(write, read, ttl, opt)
	if err != nil {
		return nil, fmt.Errorf("redislock: obtain: %w", err)
	}
	if o.token != "" {
		o.owner = owners.Of(o.token)
		defer o.owner.Done(o.token)
		o.lock.owner, o.lock.shown = o.owner, true
		o.claim = o.owner.Count(c.conn, o.set.keys, nil)
	}
	if o.queues && !c.hub.Begin() {
		o.owner.Drop(o.claim)
		return nil, fmt.Errorf("redislock: obtain: %w", wire.ErrClosed)
	}
	var lock *Lock
	if o.queues {
		defer c.hub.End()
		lock, err = o.stand(ctx)
	} else {
		lock, err = o.run(ctx)
	}
	switch {
	case err == nil && o.claim != nil:
		lock.counts(o.claim)
	case err != nil:
		o.owner.Drop(o.claim)
		o.clearUp()
	}
	o.report(ctx, err)
	return lock, err
}

// newObtaining checks everything that can be checked before Redis is asked.
func (c *Client) newObtaining(write, read []string, ttl time.Duration, opt *Options) (*obtaining, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	if c.closed.Load() {
		return nil, wire.ErrClosed
	}
	if opt == nil {
		opt = &Options{}
	}
	o := &obtaining{client: c, pace: pace.New(opt.RetryStrategy), watchdog: opt.Watchdog, began: clock.Now()}
	var err error
	if o.set, err = newKeySet(write, read, c.maxKeys); err != nil {
		return nil, err
	}
	if err := c.placement.check(o.set.keys); err != nil {
		return nil, err
	}
	if o.ttl, err = checkTTL(ttl); err != nil {
		return nil, err
	}
	token := opt.Token
	if o.token = token; token == "" {
		token = owners.NewToken()
	} else if err := checkToken(token); err != nil {
		return nil, err
	}
	if len(opt.Metadata) > c.maxMetadata {
		return nil, fmt.Errorf("%w: it has %s, the limit is %d (see WithMaxMetadata)",
			ErrInvalidMetadata, count.Of(len(opt.Metadata), "byte"), c.maxMetadata)
	}
	o.value = encodeValue(token, opt.Metadata)

	if err := c.checkServer(opt); err != nil {
		return nil, err
	}
	o.replicas, o.minUptime = opt.Replicas, opt.MinUptime
	o.queues, o.fenced = opt.Queue, opt.Fenced
	o.declares = opt.Intent && o.set.write > 0 && !opt.Queue
	if o.queues {
		if !c.hub.CanListen() {
			return nil, fmt.Errorf("%w: Options.Queue subscribes, and of a %T only Eval and EvalSha are used: say with WithWrapped what it wraps",
				errors.ErrUnsupported, c.conn.Redis())
		}
	}
	o.lock = &Lock{client: c, value: o.value}
	o.owner = &o.lock.own
	o.name()
	return o, nil
}

// name names the keys beside the lock keys.
func (o *obtaining) name() {
	keys, write := o.set.keys, o.set.write
	o.intents = besides(nil, "intent", keys[write:])
	if o.declares {
		o.intents = besides(o.intents, "intent", keys[:write])
	}
	if o.fenced {
		o.set.fences = besides(nil, "fence", keys)
	}
}

// run asks until the lock is there, or the strategy or the context ends.
func (o *obtaining) run(ctx context.Context) (*Lock, error) {
	for {
		if err := o.over(ctx); err != nil {
			return nil, err
		}
		wait := backoff.Stop
		if o.declares {
			wait = o.pace.Next() // an intent has to last as long
		}
		lock, err := o.ask(ctx, wait)
		if err == nil {
			return lock, nil
		}
		o.last = err
		if o.isLast(err) {
			return nil, err
		}
		if !o.declares {
			wait = o.pace.Next()
		}
		if wait < 0 {
			return nil, err
		}
		pace.Sleep(ctx, pace.Cut(wait, o.left()))
	}
}

// doubts takes note of a request that was not answered.
func (o *obtaining) doubts() {
	o.partly = true
	if o.hears && o.place.number == "" {
		o.place.number = unknownPlace
	}
}

// leftBehind makes the clean-up of what the obtaining may have left.
func (o *obtaining) leftBehind() *orphan {
	set := o.set
	if o.declared {
		// Nobody waits for an intent: it stands for its own line.
		set.keys, set.lines = slices.Concat(o.set.keys, o.intents), slices.Concat(o.set.lines, o.intents)
		set.fences = nil // they would be of all those keys; what is there is forgotten with its lease
	}
	left := o.client.newOrphan(set, o.lock, o.ttl)
	if o.queues {
		left.waiter, left.place = o.place.id, cmp.Or(o.place.number, unknownPlace)
	}
	return left
}

// clearUp removes what a failed obtaining may have left behind.
func (o *obtaining) clearUp() {
	switch {
	case o.place.number != "" || o.queues && o.partly:
		o.leave()
	case o.partly || o.declared:
		o.leftBehind().start()
	}
}

// isLast reports whether asking again is of no use.
func (o *obtaining) isLast(err error) bool {
	_, ended := errors.AsType[*endedError](err)
	return ended || !errors.Is(err, ErrNotObtained) && wire.Classify(err) == wire.Final
}

// left is how long whoever is in the way may stay there; negative if nobody knows.
func (o *obtaining) left() time.Duration {
	if conflict, ok := errors.AsType[*ConflictError](o.last); ok {
		return conflict.TTL
	}
	return -1
}

// ended is the error of an Obtain whose context has ended, with why it had not succeeded before:
// if that is not known, that; else the last conflict, if there was one, and what has failed since.
func (o *obtaining) ended(ctx context.Context) error {
	why := o.last
	switch {
	case errors.Is(why, ErrUnknownOutcome), errors.Is(why, ErrNotReplicated):
	case o.conflict != nil && why != nil && !errors.Is(why, ErrNotObtained):
		why = fmt.Errorf("%w; then: %w", o.conflict, why)
	case o.conflict != nil:
		why = o.conflict
	case why == nil:
		why = ErrNotObtained
	}
	return &endedError{fmt.Errorf("redislock: obtain %s: %w after %s and %s: %w",
		o.set, context.Cause(ctx), round(clock.Now().Since(o.began)), count.Of(o.asked, "attempt"), why)}
}

// report tells the hooks and the log how the obtaining ended.
func (o *obtaining) report(ctx context.Context, err error) {
	if errors.Is(err, ErrUnknownOutcome) {
		o.client.log.WarnContext(ctx, "redislock: outcome of obtain is not known, clearing up",
			o.set.logged(), "error", err)
	}
	hook := o.client.hooks.Obtained
	if err != nil {
		hook = o.client.hooks.Refused
	}
	if hook != nil {
		hook(ctx, Event{
			Keys: o.set.keys, Mode: o.set.mode(),
			Duration: clock.Now().Since(o.began), Attempts: o.asked, Err: err,
		})
	}
}
