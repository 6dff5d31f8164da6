package redislock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
)

// A Lock is one hold of a set of keys. It is safe for concurrent use; Refresh, Downgrade and Upgrade take
// turns. A nil Lock and a zero one hold nothing: what can fail returns an [ErrLockNotHeld].
type Lock struct {
	client *Client
	value  string
	faulty error        // of Attach: every operation returns it
	own    owners.Owner // if nobody else knows the token
	label  label        // of its events; empty for Attach

	mu     sync.Mutex
	set    keySet
	number int64 // its fencing number; 0 without
	term
	ending
	sharing
	watch  *watch // of the watchdog, or of Context and Lost
	change change // of its lease
}

// A term is what a lock knows of its lease.
type term struct {
	ttl      time.Duration
	longest  time.Duration // ttl that any request has asked for
	obtained clock.Moment  // zero for Attach, as is deadline until a Refresh
	deadline clock.Moment
	keep     clock.Moment  // a Release before leaves the keys until then; zero: it frees them
	certain  time.Duration // the ttl of which the deadline is the end; less than ttl while that is not certain
}

// An ending says whether a lock is held, and if not, what there is to say.
type ending struct {
	state   lockState
	over    error        // what a Release says that comes after one which was answered
	freeing clock.Moment // since then one that was not answered may have freed the keys; zero: there is none
	why     error        // it was lost
	// announced is set once the hooks know of the lock, which are told of its loss from then on.
	announced bool
}

// A sharing is what a lock has to know if callers know its token, and may use it for other locks.
type sharing struct {
	tokenKnown bool
	owner      *owners.Owner // while the lock is held
	claim      *owners.Claim // the same
}

type lockState uint8

const (
	held lockState = iota
	released
	lost
)

// Keys returns the set: the write keys, then the read keys, without repetitions, in the order of the call.
func (l *Lock) Keys() []string { return append([]string(nil), l.snapshot().shown()...) }

// Token returns the token under which the keys are held. It gives the right to release and to refresh the
// lock ([Client.Attach]), so do not log it.
func (l *Lock) Token() string {
	if l.isNothing() {
		return ""
	}
	l.mu.Lock()
	show := !l.tokenKnown && l.faulty == nil
	keys := l.set.keys
	l.mu.Unlock()
	if show {
		l.show(keys)
	}
	return l.token()
}

// show takes note that callers know the token of the lock, which holds these keys: from now on it may come
// back to [Client.As].
func (l *Lock) show(keys []string) {
	owner := l.own.Show(l.token())
	defer owner.Done(l.token())
	mine := owner.Stake(l.client.conn, keys, l.gone)
	var freed []string // by ReleaseKeys, which had no claim to reduce
	l.mu.Lock()
	if l.claim == nil && l.state == held {
		freed = owners.Without(keys, l.set.keys)
		l.claim, l.owner, mine = mine, owner, nil
	}
	l.tokenKnown = true
	shown := l.claim
	l.mu.Unlock()
	owner.Reduce(shown, freed)
	owner.Drop(mine)
}

// ownerNow returns the owner of what is sent from now on. Whoever has it has to end that with Done.
func (l *Lock) ownerNow() *owners.Owner {
	l.mu.Lock()
	shown := l.tokenKnown
	l.mu.Unlock()
	if shown {
		return owners.Of(l.token())
	}
	return l.own.Use()
}

// ownerLocked returns the owner of a lock that is held.
func (l *Lock) ownerLocked() *owners.Owner {
	if l.owner != nil {
		return l.owner
	}
	return &l.own
}

// isNothing reports whether the lock is nil, or zero: neither Obtain nor Attach has returned it.
func (l *Lock) isNothing() bool { return l == nil || l.client == nil }

// usable returns why nothing can be done with the lock at all; nil if something can.
func (l *Lock) usable() error {
	switch {
	case l != nil && l.faulty != nil:
		return l.faulty // of an Attach: without a Client, perhaps
	case l.isNothing():
		return fmt.Errorf("%w: no Obtain has returned it", ErrLockNotHeld)
	}
	return nil
}

// errReleased is the error of a lock that was released, whatever is done with it after that.
var errReleased = fmt.Errorf("%w: it was released already", ErrLockNotHeld)

// endedLocked is the error of what can only be done with a lock that is held.
func (l *Lock) endedLocked() error {
	if l.state == released {
		return errReleased
	}
	if errors.Is(l.why, ErrBroken) {
		return fmt.Errorf("%w: %w", ErrLockNotHeld, l.why)
	}
	return fmt.Errorf("%w: it was lost", ErrLockNotHeld)
}

// token is the token, without showing it to anybody.
func (l *Lock) token() string { return proto.TokenOf(l.value) }

// Metadata returns the metadata that is stored with the keys. It is empty for an attached lock.
func (l *Lock) Metadata() string {
	if l.isNothing() {
		return ""
	}
	_, _, metadata := proto.DecodeValue(l.value)
	return metadata
}

// Deadline returns the end of the time for which the lock is certain: the moment before the request that was
// last confirmed was sent, plus the ttl, less 1 % of the ttl and 2 ms for clocks that drift. Each renewal
// moves it. It is the zero time for an attached lock that was not refreshed.
func (l *Lock) Deadline() time.Time {
	if l.isNothing() {
		return time.Time{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deadline == (clock.Moment{}) {
		return time.Time{}
	}
	return l.deadline.Time()
}

// TTL asks Redis for the least remaining lease of any key of the set. If any key is no longer ours the error
// is an [ErrLockNotHeld], and if no answer comes an [ErrUnknownOutcome].
func (l *Lock) TTL(ctx context.Context) (time.Duration, error) {
	if err := l.usable(); err != nil {
		return 0, fmt.Errorf("redislock: ttl: %w", err)
	}
	l.mu.Lock()
	set, over, known := l.set, l.over, l.tokenKnown
	l.mu.Unlock()
	if over != nil {
		return 0, fmt.Errorf("redislock: ttl %s: %w", set, errReleased)
	}
	r := new(call)
	proto.TTL{Set: set.names(), Value: &l.value, Known: known}.Fill(&r.run)
	r.begins(ctx)
	if !l.client.do(ctx, r, 0) && r.Abandon(nil) {
		return 0, interrupted(ctx, "ttl", set)
	}
	if r.Err != nil {
		return 0, fault("ttl", set, r)
	}
	switch ttl, ours, err := r.run.TTL(r.Reply); {
	case err != nil:
		return 0, fmt.Errorf("redislock: ttl %s: %w", set, err)
	case ours && ttl < 0: // it has no end: somebody has made the keys persistent
		return maxTTL, nil
	case ours:
		return ttl, nil
	case len(l.snapshot().keys) < len(set.keys):
		return l.TTL(ctx) // of what ReleaseKeys has left meanwhile
	default:
		return 0, fmt.Errorf("redislock: ttl %s: %w", set, ErrLockNotHeld)
	}
}

// Refresh makes the lease of the whole set end ttl from now, even if it would have ended later. The watchdog
// uses this ttl from then on. If any key is no longer ours nothing is changed, and the error is an
// [ErrLockNotHeld] that names what was lost. If the answer does not come in time the error is an
// [ErrUnknownOutcome]: Deadline counts on the shorter of the two leases, and it is safe to call Refresh again.
func (l *Lock) Refresh(ctx context.Context, ttl time.Duration) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: refresh: %w", err)
	}
	ttl, err := l.client.checkTTL(ttl)
	if err != nil {
		return fmt.Errorf("redislock: refresh: %w", err)
	}
	op := &leasing{name: "refresh", ttl: ttl}
	op.call = func(set keySet) *call {
		r := l.refreshing(ctx, set, ttl, op.keeps || l.cannotShorten(ttl))
		if !l.Deadline().IsZero() {
			r.WaitForSlot = maxTTL // as long as there is something to refresh
		}
		return r
	}
	return l.lease(ctx, op)
}

// refreshing prepares a new lease of ttl for a set. One that never shortens a lease is never too late, and is made such
// a one if others of the token have obtained some of the keys meanwhile.
func (l *Lock) refreshing(ctx context.Context, set keySet, ttl time.Duration, neverShortens bool) *call {
	r := new(call)
	proto.Refresh{Set: set.names(), Value: &l.value, TTL: ttl, NeverShortens: neverShortens}.Fill(&r.run)
	return r.begins(ctx)
}

// cannotShorten reports whether a lease of ttl that begins now ends after every one that the lock may have.
func (l *Lock) cannotShorten(ttl time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.tokenKnown && l.longest <= ttl
}

// stakes makes the claim of an Obtain that of the lock which came of it, unless that has ended already.
func (l *Lock) stakes(mine *owners.Claim) {
	l.owner.Holds(mine, l.gone)
	l.mu.Lock()
	ended := l.state != held
	if !ended {
		l.claim = mine
	}
	l.mu.Unlock()
	if ended {
		l.owner.Drop(mine)
	}
}

// gone reports whether nothing of the lock can be left, for one that was never released.
func (l *Lock) gone(at clock.Moment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return at.Reached(l.deadline.Add(l.certain - clock.Window(l.certain)))
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
