package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/lease"
	"github.com/seed-14de3678/redislock/internal/local"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/shown"
)

// A Lock is one hold of a set of keys. It is safe for concurrent use; Refresh, Downgrade and Upgrade take turns. A nil
// Lock and a zero one hold nothing: each method that can fail returns an [ErrLockNotHeld].
type Lock struct {
	asker
	label *label    // nil without hooks, unless it is a faulty one
	names [2]string // has the names of the set if it is one key

	mu      sync.Mutex
	set     keySet
	numbers proto.Numbers // the first is its fencing number; 0 without
	lease   lease.Lease
	turn    chan struct{} // full while a Refresh, Downgrade or Upgrade is under way; nil before the first one
	keep    clock.Moment  // until then a Release leaves the keys; zero: it frees them
	ending
	claim *owners.Claim // if callers know its token, while it is held
	watch *watch        // for the watchdog, or for Context and Lost
	line  *local.Line   // of the Obtains of this Client that want its set; nil if it knows of none
}

// An ending says whether a lock is held, and if not, why.
type ending struct {
	state   lockState
	over    error        // the result of a Release after one that was answered
	freeing clock.Moment // when an unanswered request was sent that may have freed the keys; zero: there is none
	why     error        // why it was lost
}

type lockState uint8

const (
	held lockState = iota
	released
	passedOn // released without Redis: somebody else has the keys under its token
	lost
)

// Attach makes a handle for keys that are held under a token, perhaps by another process. The handle
// releases them, refreshes them, or asks for their TTL. Attach sends nothing, and reports no error: with bad
// keys or a bad token every operation of the handle returns one. The handle knows neither the modes of the
// keys nor their lease, so Deadline and Context count from its first Refresh.
func (c *Client) Attach(keys []string, token string) *Lock {
	l := &Lock{asker: asker{client: c, value: token}}
	l.tokenKnown.Store(true)
	err := c.usable()
	if err == nil {
		l.label = c.newLabel(nil)
		if l.set, err = c.newKeySet(Set{Write: keys}, nil); err == nil {
			err = cmp.Or(c.placement.check(l.set), checkToken(token))
		}
	}
	if err != nil {
		l.label = &label{faulty: err}
	}
	return l
}

// Keys returns the set: the write keys, then the read keys, without repetitions, in the order of the call.
func (l *Lock) Keys() []string { return append([]string(nil), l.snapshot().shown()...) }

// Token returns the token under which the keys are held. It gives the right to release and to refresh the
// lock ([Client.Attach]), so do not log it. It is empty if the lock was passed on: see [Options].PassOn.
func (l *Lock) Token() string {
	if l.isNothing() {
		return ""
	}
	l.mu.Lock()
	keys, line := l.set.Keys, l.line
	l.mu.Unlock()
	line.Touch(l) // what others know must not be somebody else's
	l.mu.Lock()
	gone := l.state == passedOn
	l.mu.Unlock()
	if gone {
		return ""
	}
	if !l.tokenKnown.Load() {
		l.show(keys)
	}
	return l.token()
}

// show notes that callers know the token of the lock, which holds these keys. From now on the token may come back to
// [Client.As].
func (l *Lock) show(keys []string) {
	own := l.sureOwner()
	owner := own.Show(l.token())
	own.Done(l.token())
	defer owner.Done(l.token())
	mine := owner.Stake(l.client.conn, &l.asker, keys, l.isOver)
	var freed []string // by ReleaseKeys, when there was no claim to reduce
	l.mu.Lock()
	if l.claim == nil && l.state == held {
		freed = owners.Without(keys, l.set.Keys)
		l.claim, mine = mine, nil
	}
	l.owner.Store(owner)
	l.tokenKnown.Store(true)
	shown := l.claim
	l.mu.Unlock()
	owner.Reduce(shown, freed)
	owner.Drop(mine)
}

// isNothing reports whether the lock is nil or zero, so that neither Obtain nor Attach has returned it.
func (l *Lock) isNothing() bool { return l == nil || l.client == nil }

// usable returns why nothing can be done with the lock at all; nil if something can be done.
func (l *Lock) usable() error {
	switch {
	case l != nil && l.label != nil && l.label.faulty != nil:
		return l.label.faulty // of an Attach, perhaps without a Client
	case l.isNothing():
		return fmt.Errorf("%w: no Obtain has returned it", ErrLockNotHeld)
	}
	return nil
}

// errReleased is the error of every operation on a lock that was released.
var errReleased = fmt.Errorf("%w: it was released already", ErrLockNotHeld)

// endedLocked is the error of an operation that needs a lock which is held; nil if it is.
func (l *Lock) endedLocked() error {
	switch {
	case l.state == held:
		return nil
	case l.state == released, l.state == passedOn:
		return errReleased
	case errors.Is(l.why, ErrBroken):
		return fmt.Errorf("%w: %w", ErrLockNotHeld, l.why)
	}
	return fmt.Errorf("%w: it was lost", ErrLockNotHeld)
}

// Metadata returns the metadata that is stored with the keys. It is empty for an attached lock.
func (l *Lock) Metadata() string {
	if l.isNothing() {
		return ""
	}
	_, _, metadata := proto.DecodeValue(l.value)
	return metadata
}

// Deadline returns the end of the time for which the lock is certain. It is the moment before the last confirmed
// request was sent, plus the ttl, less 1 % of the ttl and 2 ms for clocks that drift. Each renewal moves it. With
// [Options].PassOn it may be the end of a hold that was obtained before. It is the zero time for an attached lock that was not
// refreshed.
func (l *Lock) Deadline() time.Time {
	if l.isNothing() {
		return time.Time{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lease.Deadline.Time()
}

// TTL asks Redis for the least remaining lease of any key of the set. If any key is no longer ours the error
// is an [ErrLockNotHeld], and if no answer comes an [ErrUnknownOutcome].
func (l *Lock) TTL(ctx context.Context) (time.Duration, error) {
	if err := l.usable(); err != nil {
		return 0, fmt.Errorf("redislock: ttl: %w", err)
	}
	l.mu.Lock()
	set, over, known := l.set, l.over, l.tokenKnown.Load()
	l.mu.Unlock()
	switch {
	case over != nil:
		return 0, about("ttl", set, errReleased)
	case ctx.Err() != nil: // otherwise chance would decide whether it asks
		return 0, notAsked(ctx, "ttl", set)
	}
	r := new(call)
	proto.TTL{Set: set.Set, Value: &l.value, Known: known}.Fill(&r.run)
	if err := l.client.ask(ctx, r.begins(ctx), "ttl", set, 0); err != nil {
		return 0, err
	}
	ttl, ours, err := r.run.TTL(r.Reply)
	switch {
	case ours && ttl < 0: // somebody has made the keys persistent
		return maxTTL, nil
	case ours:
		return ttl, nil
	case err == nil && len(l.snapshot().Keys) < len(set.Keys):
		return l.TTL(ctx) // of the keys that ReleaseKeys has left in the set
	}
	return 0, about("ttl", set, cmp.Or(err, ErrLockNotHeld))
}

// stakes gives the claim of an Obtain to the lock that it has obtained, unless that has ended already.
func (l *Lock) stakes(mine *owners.Claim) {
	l.owner.Load().Holds(mine, l.isOver)
	l.mu.Lock()
	if l.state == held {
		l.claim, mine = mine, nil
	}
	l.mu.Unlock()
	l.owner.Load().Drop(mine)
}

// isOver reports whether a lock that was never released has certainly ended.
func (l *Lock) isOver(at clock.Moment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lease.IsOver(at)
}

// snapshot returns the set as it is now.
func (l *Lock) snapshot() keySet {
	if l.isNothing() {
		return keySet{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set
}

// Fence returns the fencing number of the lock. It is greater than every number that was given before for
// any of its keys, and 0 without [Options].Fenced. Pass it to what the lock protects, so that a holder with a
// smaller number can be refused there: package fencing does that. [Lock.Upgrade] gives a new number.
func (l *Lock) Fence() int64 {
	if l.isNothing() {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.numbers.First
}

// What follows is what others are told of a lock: in prints and logs, and by hooks.

// String says what the lock holds, and for how much longer it is certain. It never has the token.
func (l *Lock) String() string { return l.shown().String() }

// GoString is String for the verb %#v.
func (l *Lock) GoString() string { return "*redislock.Lock(" + l.String() + ")" }

// LogValue is String in fields, for a log of package slog.
func (l *Lock) LogValue() slog.Value { return l.shown().LogValue() }

func (l *Lock) shown() shown.Lock {
	if l.isNothing() {
		return shown.Lock{}
	}
	l.mu.Lock()
	set, state, its := l.set, l.state, l.lease
	l.mu.Unlock()
	keys := set.shown()
	of := shown.Lock{Write: keys[:set.Writes], Read: keys[set.Writes:], Until: its.Deadline.Time()}
	if its.Obtained == (clock.Moment{}) {
		of = shown.Lock{Unknown: keys, Until: of.Until}
	}
	switch state {
	case released, passedOn:
		of.Ended = "released"
	case lost:
		of.Ended = "lost"
	}
	return of
}

// reportLost tells the hook that the lock was lost.
func (l *Lock) reportLost(why error) {
	if hook := l.client.hooks.Lost; hook != nil {
		hook(context.Background(), l.event(l.snapshot(), clock.Now(), 0, why))
	}
}

// reportRefreshed tells the hook how a Refresh or a renewal has ended.
func (l *Lock) reportRefreshed(ctx context.Context, began clock.Moment, err error) {
	if hook := l.client.hooks.Refreshed; hook != nil {
		e := l.event(l.snapshot(), began, 1, err)
		e.Expires = l.expires()
		hook(ctx, e)
	}
}

// reportReleased tells the hook how a Release of a part has ended, whether it has asked Redis or not.
func (l *Lock) reportReleased(ctx context.Context, set keySet, keep, began clock.Moment, asked int, err error) {
	hook := l.client.hooks.Released
	if hook == nil {
		return
	}
	e := l.event(set, began, asked, err)
	if !errors.Is(err, ErrLockNotHeld) {
		e.Kept = began.Until(keep)
	}
	hook(ctx, e)
}

// event makes the event of an operation on some of the lock.
func (l *Lock) event(set keySet, began clock.Moment, attempts int, err error) Event {
	e := l.label.event(set, began, attempts, err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if began := l.lease.Obtained; began != (clock.Moment{}) {
		e.Held = clock.Now().Since(began)
	}
	e.Fence, e.Ended = l.numbers.First, l.state != held
	return e
}

// expires is when the lock ends by itself; zero if it has ended, or if its watchdog keeps it from ending.
func (l *Lock) expires() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != held || l.watch != nil && l.watch.renews {
		return time.Time{}
	}
	return l.lease.Deadline.Time()
}

// announce notes that the hooks were told of the lock, and tells them if it was lost meanwhile.
func (l *Lock) announce() {
	l.mu.Lock()
	l.label.announced = true
	isLost, why := l.state == lost, l.why
	l.mu.Unlock()
	if isLost {
		l.reportLost(why)
	}
}
