package redislock

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"sync"
	"time"
)

//go:embed refresh.lua
var refreshLua string

//go:embed convert.lua
var convertLua string

//go:embed release.lua
var releaseLua string

//go:embed pttl.lua
var pttlLua string

var (
	refreshScript = newScript("refresh", refreshLua)
	convertScript = newScript("convert", convertLua)
	releaseScript = newScript("release", releaseLua)
	pttlScript    = newScript("pttl", pttlLua)
)

// A Lock is one hold of a set of keys. It is safe for concurrent use; Refresh, Downgrade and
// Upgrade take turns.
type Lock struct {
	client   *Client
	value    string
	faulty   error  // of Attach: every operation returns it
	claim    *claim // if the token is known outside of this lock
	fences   []string
	replicas int

	mu       sync.Mutex
	set      keySet
	ttl      time.Duration
	obtained moment // zero for Attach, as is deadline until a Refresh
	deadline moment
	number   int64 // its fencing number; 0 without
	state    lockState
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
	l.mu.Lock()
	show := l.claim == nil && l.state == held && l.faulty == nil
	keys := l.set.keys
	l.mu.Unlock()
	if show {
		// From now on it may come back in an Options.Token.
		mine := l.client.claims.stake(l.owner(), keys, l)
		l.mu.Lock()
		if l.claim == nil && l.state == held {
			l.claim, mine = mine, nil
		}
		l.mu.Unlock()
		l.client.claims.waive(l.owner(), mine)
	}
	return l.owner()
}

// owner is the token, without showing it to anybody.
func (l *Lock) owner() string {
	token, _ := decodeValue(l.value)
	return token
}

// Metadata returns what the keys were tagged with. It is empty for an attached lock.
func (l *Lock) Metadata() string {
	_, metadata := decodeValue(l.value)
	return metadata
}

// Deadline returns the end of the time for which the lock is certain: the moment before the
// request that was last confirmed, plus the ttl, less a drift of 1 % of it and 2 ms (at most half
// of it). It moves with each [Lock.Refresh] and with the watchdog. It is the zero time for an
// attached lock that was not refreshed.
func (l *Lock) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deadline == (moment{}) {
		return time.Time{}
	}
	return l.deadline.time()
}

// TTL asks Redis for the least remaining lease over the set. If any key is no longer ours it
// returns [ErrLockNotHeld]; if the answer does not come, [ErrUnknownOutcome]. It waits for the
// answer until ctx ends.
func (l *Lock) TTL(ctx context.Context) (time.Duration, error) {
	if l.faulty != nil {
		return 0, fmt.Errorf("redislock: ttl: %w", l.faulty)
	}
	set := l.snapshot()
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
// been extended or not, Deadline does not count on it, and calling again is safe.
func (l *Lock) Refresh(ctx context.Context, ttl time.Duration) error {
	ttl, err := checkTTL(ttl)
	if err != nil {
		return fmt.Errorf("redislock: refresh: %w", err)
	}
	return l.lease(ctx, "refresh", ttl, func(set keySet) *call {
		return newCall(ctx, refreshScript, set.keys, nil, &l.value, millis(ttl), "0")
	}, nil)
}

// Downgrade turns the write keys of the set into read keys, in one step: nobody else can write in
// between, and other readers are let in. The lease begins anew. Errors are those of Refresh; a
// lock that nothing is known of ([ErrUnknownOutcome]) is held in one mode or the other.
func (l *Lock) Downgrade(ctx context.Context) error { return l.convert(ctx, "downgrade", 0) }

// Upgrade turns the read keys of the set into write keys, in one step, if nobody else reads any
// of them. If somebody does it returns an [ErrNotObtained], a [*ConflictError], and everything
// stays as it was: the lock still reads. It asks once; two readers that both insist would wait for
// each other for ever. The lease begins anew. Other errors are those of Refresh.
//
// If an ObtainRead or a Downgrade of this lock was not answered at first, so that it may reach the
// server late and make readers of the writers again, Upgrade waits until it cannot: at most 10 s.
func (l *Lock) Upgrade(ctx context.Context) error {
	l.mu.Lock()
	wait := now().until(l.termsLocked().weakens)
	l.mu.Unlock()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return fmt.Errorf("redislock: upgrade %s: not asked: %w", l.snapshot(), context.Cause(ctx))
		}
	}
	return l.convert(ctx, "upgrade", len(l.snapshot().keys))
}

// Release frees every key of the set that is still ours, hands it over to whoever is next in line,
// and stops the watchdog. It returns
// [ErrLockNotHeld], naming what was lost, if not all of them were; the rest is free.
//
// It does its work also if ctx has ended already, or ends meanwhile: then it waits a second, or
// 100 ms, for the answer. If none comes it returns [ErrUnknownOutcome], or why Redis refuses for
// the moment, and goes on trying in the background until the lease is over.
//
// A nil lock holds nothing: [ErrLockNotHeld].
func (l *Lock) Release(ctx context.Context) (err error) {
	if l == nil {
		return fmt.Errorf("redislock: release: %w", ErrLockNotHeld)
	}
	if l.faulty != nil {
		return fmt.Errorf("redislock: release: %w", l.faulty)
	}
	began := now()
	set, deadline, late := l.stop()
	defer func() { l.report(ctx, l.client.hooks.Released, began, 1, err) }()

	wait := patience
	if ctx.Err() != nil {
		wait = releasePatience
	}
	c := l.client.transport.newCall(ctx, releaseScript, set, &l.value, 0)
	ls := l.client.listeners
	next := ls.busy(set.keys[0], nil) // most likely, and then the answer says so
	c.plain = set.reads() == 0 && l.fences == nil && !next
	if next {
		c.ls, c.more = ls, []any{ls.channel(set.keys[0])}
	}
	if l.fences != nil {
		c.extra = slices.Concat(set.lines, l.fences)
		c.more = append(append(c.more, "")[:1], "1")
	}
	l.mu.Lock()
	if l.terms != nil && l.terms.waiter != "" { // a late request may have entered it once more
		c.extra, c.plain = slices.Concat(set.lines, l.fences), false
		c.more = append(append(c.more, "")[:1], flag(l.fences != nil), l.terms.waiter, unknownPlace)
	}
	l.mu.Unlock()
	if !l.client.transport.do(ctx, c, wait) {
		left := l.leftBehind(set, began.add(networkGrace))
		if c.leave(func(c *call) {
			if c.err == nil && !now().precedes(late) {
				left.landed(false)
			}
			ls.rouse(set.keys)
		}) {
			left.start()
			return interrupted(ctx, "release", set)
		}
	}
	if err := c.err; err != nil {
		if classify(err) != final {
			l.leftBehind(set, late).start()
		}
		ls.rouse(set.keys)
		return fault("release", set, c)
	}
	if began.precedes(late) {
		l.leftBehind(set, late).start()
	}
	if c.unsure && next {
		ls.rouse(set.keys) // somebody's turn was in an answer that did not come
	}
	code, rest, err := c.code()
	if err != nil {
		return fmt.Errorf("redislock: release %s: %w", set, err)
	}
	if code == 1 || len(rest) == len(set.keys) && c.unsure && !began.reached(deadline) {
		// Nothing is ours, but an earlier try may have been executed, and when it was sent
		// everything was: so it was that try which freed the keys.
		l.client.transport.recycle(c)
		return nil
	}
	keys, err := c.lost(rest)
	if err != nil {
		return err
	}
	return fmt.Errorf("redislock: release %s: %w: %s", set, ErrLockNotHeld, listed(keys))
}

// releasePatience is how long a Release waits for its answer if its context had ended before: to
// be called then is usual, after a cancelled request for example.
const releasePatience = time.Second

// stop ends the hold on this side: no watchdog, no contexts, no claim. It returns what a Release
// has to know; a request of the Obtain may reach the server as late as the last of it says.
func (l *Lock) stop() (set keySet, deadline, late moment) {
	l.mu.Lock()
	var end func(error)
	if l.state == held {
		l.state = released
		if l.watch != nil {
			end = l.watch.endLocked()
		}
	}
	mine := l.claim
	l.claim = nil
	set, deadline = l.set, l.deadline
	if l.terms != nil {
		late = l.terms.obtain
	}
	l.mu.Unlock()
	if end != nil {
		end(context.Canceled)
	}
	l.client.claims.waive(l.owner(), mine)
	return set, deadline, late
}

// leftBehind is the clean-up of a set that a request may have taken, or not freed, before it lands.
func (l *Lock) leftBehind(set keySet, lands moment) *orphan {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := l.ttl
	if l.terms != nil {
		longest = max(longest, l.terms.longest)
	}
	left := l.client.newOrphan(set, l.value, lands, longest)
	left.fences = l.fences
	if l.terms != nil && l.terms.waiter != "" {
		left.waiter, left.place = l.terms.waiter, unknownPlace
	}
	return left
}

// gone reports whether nothing of the lock can be left, for one that was never released.
func (l *Lock) gone(at moment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != held || at.reached(l.deadline.add(l.ttl-window(l.ttl)))
}

// snapshot returns the set as it is now.
func (l *Lock) snapshot() keySet {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.set
}

// report tells a hook how an operation ended.
func (l *Lock) report(ctx context.Context, hook func(context.Context, Event), began moment, attempts int, err error) {
	if hook == nil {
		return
	}
	at := now()
	l.mu.Lock()
	e := Event{
		Keys: l.set.keys, Mode: l.set.mode(), Duration: at.since(began), Attempts: attempts,
		Held: at.since(l.obtained), Err: err,
	}
	if l.obtained == (moment{}) {
		e.Held = 0
	}
	l.mu.Unlock()
	hook(ctx, e)
}
