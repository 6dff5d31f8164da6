package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/local"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// An obtaining is one Obtain under way. It has four parts: what it asks for, how far it is, where it stands in line,
// and what it may have left in Redis. One goroutine uses it.
type obtaining struct {
	client *Client
	want   want
	asked  attempts
	behind *local.Waiter // its place among the Obtains of its Client; nil as long as it has none
	line   *standing     // where it stands in Redis; nil as long as it has not asked, and without Options.Queue
	first  sent          // the first request, if that is under way already
	left   leftover
	alone  bool // it is to have no place among the Obtains of its Client
	pace   pace.Pace
	label  *label        // of its lock
	made   *Lock         // its lock; nil until it is needed, because most that wait behind others are given one later: see lock
	owner  *owners.Owner // of its requests, if the caller has chosen the token; else nil
	claim  *owners.Claim // on the keys, if the caller has chosen the token; else nil
	// caller is the context that was given to the Obtain. The context with which it asks and waits ends with that one,
	// or earlier, by Options.Wait.
	caller context.Context
}

// A want is what one Obtain asks for. It never changes.
type want struct {
	set         keySet
	intents     []string // the intent keys of the read keys; if it declares intents, of the write keys, too
	value       string   // what the keys will hold
	ttl         time.Duration
	holdAtLeast time.Duration
	passOn      time.Duration // Options.PassOn
	wait        time.Duration // Options.Wait
	pending     bool          // until the first renewal, inctx.Pending stands behind the value
	watchdog    bool
	tokenKnown  bool // the caller has chosen the token
	fresh       bool // but nobody has used it with other metadata
	fenced      bool
	declares    bool // intents, while it waits
	queues      bool // Options.Queue
}

// A leftover is what one Obtain may have left in Redis. If it fails it has to clear that up.
type leftover struct {
	unanswered  bool // a request was not answered, and may have locked the keys
	wrotePartly bool // a script has failed, and may have locked some of the keys before
	unused      bool // the keys were locked, but the answer was of no use
	intents     bool // intents were declared
}

// keys reports whether some of the keys may be locked.
func (l leftover) keys() bool { return l.unanswered || l.wrotePartly || l.unused }

// obtainLong is an Obtain by the long way. If the first request was sent already, it goes on from there.
func (c *Client) obtainLong(ctx context.Context, token string, set Set, ttl time.Duration, opt *Options, first sent) (*Lock, error) {
	o, err := c.newObtaining(ctx, token, set, ttl, opt, first)
	if err != nil {
		return nil, fmt.Errorf("redislock: obtain: %w", &pace.NotAskedError{Err: err})
	}
	if wire.IsStaying(ctx) { // then only a Close waits for the clean-up
		c.conn.Enter()
		defer c.conn.Exit()
	}
	if o.want.tokenKnown {
		o.want.fresh = owners.IsFresh(ctx, token)
		o.owner = owners.Of(token)
		defer o.owner.Done(token)
		o.lock().owner.Store(o.owner)
		o.lock().tokenKnown.Store(true)
		o.claim = o.owner.Stake(c.conn, &o.lock().asker, o.want.set.Keys, nil)
	}
	if o.want.queues = o.want.queues && c.hub.Begin(); o.want.queues { // otherwise the Client was closed meanwhile
		c.inLine.Add(1)
		defer c.inLine.Add(-1)
		defer c.hub.End()
	}
	return o.run(ctx)
}

// errPanicked is the error, for the hooks alone, of an Obtain that does not return.
var errPanicked = errors.New("redislock: obtain: a RetryStrategy or a hook has panicked")

// run obtains the lock, and then ends whatever was begun for that, even if a strategy or a hook panics.
func (o *obtaining) run(ctx context.Context) (lock *Lock, err error) {
	within := ctx
	if wait := o.want.wait; wait > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, wait, ErrWaitOver)
		defer cancel()
		within = bounded
	}
	o.caller, err = ctx, errPanicked
	defer func() { o.end(lock, err) }()
	if o.want.queues {
		lock, err = o.stand(within)
	} else {
		lock, err = o.poll(within)
	}
	return lock, err
}

// end handles the outcome.
func (o *obtaining) end(lock *Lock, err error) {
	o.leave(lock)
	switch {
	case err == nil && o.claim != nil:
		lock.stakes(o.claim)
		o.client.hub.AskAgain(o.want.set.Keys, o.owner)
	case err != nil:
		o.owner.Drop(o.claim)
		o.clearUp()
	}
	told := false
	defer func() {
		if !told && err == nil {
			_ = lock.Release(pace.GivingBack(o.caller)) // a hook has panicked, and nobody gets the lock
		}
	}()
	o.report(err)
	told = true
	if err == nil && o.client.hooks.Lost != nil {
		lock.announce()
	}
}

// newObtaining checks everything that can be checked before Redis is asked.
func (c *Client) newObtaining(
	ctx context.Context, token string, set Set, ttl time.Duration, opt *Options, first sent,
) (*obtaining, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	if c.closed.Load() && first.call == nil {
		return nil, wire.ErrClosed
	}
	if opt == nil {
		opt = &Options{}
	}
	o := &obtaining{}
	o.client, o.pace, o.asked.began = c, pace.New(strategyOf(opt)), clock.Now()
	if o.first = first; first.call != nil { // everything was checked
		l, w := first.lock, &o.want
		o.made, o.label, o.asked.began = l, l.label, first.call.Began
		w.set, w.value, w.ttl, w.watchdog, w.queues = l.set, l.value, l.lease.TTL, opt.Watchdog, opt.Queue
	} else if err := o.wants(ctx, token, set, ttl, opt); err != nil {
		return nil, err
	}
	if opt.Queue && !c.hub.CanListen() {
		return nil, fmt.Errorf("%w: Options.Queue subscribes, and of a %T only Eval and EvalSha are used: say with WithWrapped what it wraps",
			errors.ErrUnsupported, c.conn.Redis())
	}
	return o, nil
}

// lock returns the lock that an obtaining asks for. It is held once the Obtain has returned it.
func (o *obtaining) lock() *Lock {
	if o.made == nil {
		value := o.want.value
		if o.want.pending {
			value = strings.TrimSuffix(value, inctx.Pending)
		}
		o.made = &Lock{asker: asker{client: o.client, value: value}, label: o.label}
	}
	return o.made
}

// wants checks the arguments, and notes what is asked for.
func (o *obtaining) wants(ctx context.Context, token string, set Set, ttl time.Duration, opt *Options) (err error) {
	c, w := o.client, &o.want
	if w.set, err = c.newKeySet(set, nil); err != nil {
		return err
	}
	if err := c.placement.check(w.set); err != nil {
		return err
	}
	if w.ttl, err = c.checkTTL(ttl); err != nil {
		return err
	}
	if w.tokenKnown = token != ""; !w.tokenKnown {
		token = owners.NewToken()
	}
	metadata := cmp.Or(opt.Metadata, c.metadata)
	if len(metadata) > mostMetadata {
		return invalid("metadata", "it has %d bytes, the limit is %d", len(metadata), mostMetadata)
	}
	id, err := callerOf(ctx)
	if err != nil {
		return err
	}
	w.value = proto.EncodeValue(token, id, metadata)
	if w.pending = opt.Watchdog && c.asksServer() && inctx.IsCandidate(ctx); w.pending {
		w.value = proto.EncodeCandidate(token, id, metadata) + inctx.Pending
	}
	if err := c.checkTimes(opt); err != nil {
		return err
	}
	if err := checkPassOn(opt, w.ttl); err != nil {
		return err
	}
	w.wait, w.passOn = opt.Wait, opt.PassOn
	w.watchdog, w.fenced, w.queues = opt.Watchdog, opt.Fenced, opt.Queue
	w.holdAtLeast = opt.HoldAtLeast
	w.declares = opt.Intent && w.set.Writes > 0 && !opt.Queue
	w.nameBeside()
	o.label = c.newLabel(opt)
	return nil
}

// nameBeside names the keys that stand beside the lock keys.
func (w *want) nameBeside() {
	keys, write := w.set.Keys, w.set.Writes
	w.intents = besides(nil, "intent", keys[write:])
	if w.declares {
		w.intents = besides(w.intents, "intent", keys[:write])
	}
	if w.fenced {
		w.set.Fences = besides(nil, "fence", keys)
	}
}

// noteUnanswered notes a request that was not answered. It may have locked the keys, or entered the lines. Without this
// note nobody would free the keys before their ttl ends, nor take the waiter out of its lines.
func (o *obtaining) noteUnanswered() {
	o.left.unanswered = true
	if o.line != nil {
		o.line.noteUnanswered()
	}
}

// clearUp removes what a failed obtaining may have left behind.
func (o *obtaining) clearUp() {
	switch {
	case o.want.queues && o.left.keys(), o.line != nil && o.line.place.IsPossible():
		o.leaveLine()
	case o.left.keys() || o.left.intents:
		o.cleanUp().start()
	}
}

// cleanUp makes the clean-up for what the obtaining may have left.
func (o *obtaining) cleanUp() *cleanup {
	set := o.want.set
	if o.left.intents {
		if !o.left.keys() { // then another lock holds what the token has of them
			set.Keys, set.Lines = nil, nil
		}
		// Nobody waits for an intent, so it stands for its own line.
		set.Keys, set.Lines = slices.Concat(set.Keys, o.want.intents), slices.Concat(set.Lines, o.want.intents)
		set.Fences = nil // they would be of all those keys; a number is forgotten with its lease
	}
	left := o.client.newCleanup(set, &o.lock().asker, o.want.ttl)
	if o.line != nil && o.line.waiter != nil {
		left.waiter, left.place = o.line.waiter.ID, o.line.place.OrUnknown()
	}
	return left
}
