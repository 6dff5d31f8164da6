package redislock

import (
	"context"
	_ "embed"
	"fmt"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/pace"
)

//go:embed refresh.lua
var refreshLua string

//go:embed convert.lua
var convertLua string

//go:embed pttl.lua
var pttlLua string

var (
	refreshScript = newScript("refresh", refreshLua)
	convertScript = newScript("convert", convertLua)
	pttlScript    = newScript("pttl", pttlLua)
)

// A Lock is one hold of a set of keys. It is safe for concurrent use; Refresh, Downgrade and
// Upgrade take turns. A nil Lock and a zero one hold nothing: whatever can fail says so, with an
// [ErrLockNotHeld].
type Lock struct {
	client   *Client
	value    string
	faulty   error  // of Attach: every operation returns it
	claim    *claim // if the token is known outside of this lock, while it is held
	replicas int

	mu       sync.Mutex
	set      keySet
	ttl      time.Duration
	obtained moment // zero for Attach, as is deadline until a Refresh
	deadline moment
	counted  time.Duration // the ttl of which the deadline is the end; less than ttl while that is not certain
	number   int64         // its fencing number; 0 without
	state    lockState
	over     error  // what a Release says that comes after one which was answered
	doubted  moment // since then one that was not answered may have freed the keys; zero: there is none
	shown    bool   // the token is known outside of this lock
	why      error  // it was lost
	watch    *watch // of the watchdog, or of Context and Lost
	terms    *terms // nil for a lock whose lease is as it was obtained
}

type lockState uint8

const (
	held lockState = iota
	released
	lost
)

// Keys returns the set: the write keys, then the read keys, without repetitions, each in the
// order in which it was asked for.
func (l *Lock) Keys() []string { return append([]string(nil), l.snapshot().keys...) }

// Token returns the token under which the keys are held. Whoever has it can release and refresh
// the lock ([Client.Attach]), so it is not to be logged.
func (l *Lock) Token() string {
	if l.isNothing() {
		return ""
	}
	l.mu.Lock()
	show := l.claim == nil && l.state == held && l.faulty == nil
	keys := l.set.keys
	l.mu.Unlock()
	if show {
		// From now on it may come back in an Options.Token.
		mine := l.client.claims.stake(l.owner(), keys, l)
		var freed []string // by ReleaseKeys, which had no claim to reduce
		l.mu.Lock()
		if l.claim == nil && l.state == held {
			freed = without(keys, l.set.keys)
			l.claim, l.shown, mine = mine, true, nil
		}
		shown := l.claim
		l.mu.Unlock()
		l.client.claims.reduce(shown, freed)
		l.client.claims.waive(l.owner(), mine)
	}
	return l.owner()
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
	return fmt.Errorf("%w: it was lost", ErrLockNotHeld)
}

// owner is the token, without showing it to anybody.
func (l *Lock) owner() string {
	token, _ := decodeValue(l.value)
	return token
}

// Metadata returns what the keys were tagged with. It is empty for an attached lock.
func (l *Lock) Metadata() string {
	if l.isNothing() {
		return ""
	}
	_, metadata := decodeValue(l.value)
	return metadata
}

// Deadline returns the end of the time for which the lock is certain: the moment before the
// request that was last confirmed, plus the ttl, less a drift of 1 % of it and 2 ms (at most half
// of it). It moves with each [Lock.Refresh] and with the watchdog. It is the zero time for an
// attached lock that was not refreshed.
func (l *Lock) Deadline() time.Time {
	if l.isNothing() {
		return time.Time{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deadline == (moment{}) {
		return time.Time{}
	}
	return l.deadline.time()
}

// TTL asks Redis for the least remaining lease over the set. If any key is no longer ours it
// returns [ErrLockNotHeld]; if the answer does not come, [ErrUnknownOutcome]. It waits for the
// answer until ctx ends. Of a lock that was released nobody is asked.
func (l *Lock) TTL(ctx context.Context) (time.Duration, error) {
	if err := l.usable(); err != nil {
		return 0, fmt.Errorf("redislock: ttl: %w", err)
	}
	l.mu.Lock()
	set, over := l.set, l.over
	l.mu.Unlock()
	if over != nil {
		return 0, fmt.Errorf("redislock: ttl %s: %w", set, errReleased)
	}
	c := newCall(ctx, pttlScript, set.keys, nil, &l.value, 0)
	if !l.client.transport.do(ctx, c, 0) && c.leave(nil) {
		return 0, interrupted(ctx, "ttl", set)
	}
	if err := c.err; err != nil {
		return 0, fault("ttl", set, c)
	}
	switch ms, _, err := c.code(); {
	case err != nil:
		return 0, fmt.Errorf("redislock: ttl %s: %w", set, err)
	case ms == 0 && len(l.snapshot().keys) < len(set.keys):
		return l.TTL(ctx) // of what ReleaseKeys has left meanwhile
	case ms == 0:
		return 0, fmt.Errorf("redislock: ttl %s: %w", set, ErrLockNotHeld)
	case ms == -1:
		return maxTTL, nil
	case ms < 0:
		return 0, fmt.Errorf("redislock: ttl %s: %w", set, c.garbled())
	default:
		return fromMillis(ms), nil
	}
}

// Refresh makes the lease of the whole set end ttl from now, also if it would have ended later,
// and lets the watchdog go on with this ttl. If any key is no longer ours nothing is changed and
// it returns [ErrLockNotHeld], naming what was lost; so it does if the lock was declared lost
// before. If the answer does not come in time it returns [ErrUnknownOutcome]: the lease may have
// been extended or not, Deadline does not count on it, and calling again is safe. If ttl is shorter
// than what was left, Deadline moves before the request is sent, and moves back only if it is certain
// that nothing was done. A Cluster slot whose keys are on their way to another server is waited for,
// until the lease ends.
func (l *Lock) Refresh(ctx context.Context, ttl time.Duration) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: refresh: %w", err)
	}
	ttl, err := checkTTL(ttl)
	if err != nil {
		return fmt.Errorf("redislock: refresh: %w", err)
	}
	return l.lease(ctx, "refresh", ttl, func(set keySet) *call {
		c := newCall(ctx, refreshScript, set.keys, nil, &l.value, millis(ttl), "0")
		if !l.Deadline().IsZero() {
			c.rides = maxTTL // as long as there is something to refresh
		}
		return c
	}, nil)
}

// Downgrade turns the write keys of the set into read keys, in one step: nobody else can write in
// between, and other readers are let in. The lease begins anew. Errors are those of Refresh; a
// lock that nothing is known of ([ErrUnknownOutcome]) is held in one mode or the other.
func (l *Lock) Downgrade(ctx context.Context) error { return l.convert(ctx, "downgrade", false) }

// Upgrade turns the read keys of the set into write keys, in one step, if nobody else reads any
// of them. If somebody does it returns an [ErrNotObtained], a [*ConflictError], and everything
// stays as it was: the lock still reads. It asks once; two readers that both insist would wait for
// each other for ever. The lease begins anew. Other errors are those of Refresh.
//
// If an ObtainRead or a Downgrade of this lock was not answered at first, so that it may reach the
// server late and make readers of the writers again, Upgrade waits until it cannot: at most 10 s,
// from when the Redis client has given that request up.
func (l *Lock) Upgrade(ctx context.Context) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: upgrade: %w", err)
	}
	for wait := l.weakened(); wait > 0; wait = l.weakened() {
		if !pace.Sleep(ctx, wait) {
			return fmt.Errorf("redislock: upgrade %s: not asked: %w", l.snapshot(), context.Cause(ctx))
		}
	}
	return l.convert(ctx, "upgrade", true)
}

// weakened is for how long a request that was not answered may make read keys of its write keys.
func (l *Lock) weakened() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.termsLocked()
	if t.weakens == (moment{}) {
		return 0
	}
	return now().until(t.strays.latest(t.weakens))
}

// gone reports whether nothing of the lock can be left, for one that was never released.
func (l *Lock) gone(at moment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != held || at.reached(l.deadline.add(l.counted-window(l.counted)))
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

// report tells a hook how an operation on the whole lock ended.
func (l *Lock) report(ctx context.Context, hook func(context.Context, Event), began moment, attempts int, err error) {
	if hook != nil {
		l.tell(ctx, hook, l.snapshot(), began, attempts, err)
	}
}

// tell tells a hook how an operation on some of it ended.
func (l *Lock) tell(ctx context.Context, hook func(context.Context, Event), set keySet, began moment, attempts int, err error) {
	if hook == nil {
		return
	}
	at := now()
	l.mu.Lock()
	e := Event{
		Keys: set.keys, Mode: set.mode(), Duration: at.since(began), Attempts: attempts,
		Held: at.since(l.obtained), Err: err,
	}
	if l.obtained == (moment{}) {
		e.Held = 0
	}
	l.mu.Unlock()
	hook(ctx, e)
}
