package redislock

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"
)

//go:embed release.lua
var releaseLua string

var releaseScript = newScript("release", releaseLua)

// Release frees every key of the set that is still ours, hands it over to whoever is next in line,
// and stops the watchdog. It returns [ErrLockNotHeld], naming what was lost, if not all of them were;
// the rest is free. Once that was answered nothing is sent any more: another Release says that it was
// released already, or what was lost; it is an ErrLockNotHeld, too.
//
// It does its work also if ctx has ended already, or ends meanwhile: then it waits a second, or
// 100 ms, for the answer. If none comes it returns [ErrUnknownOutcome], or why Redis refuses for
// the moment, and goes on trying in the background until the lease is over. Another Release asks once
// more, and returns nil if the first one turns out to have done it. A Cluster slot whose keys are on
// their way to another server is waited for, for 10 s.
func (l *Lock) Release(ctx context.Context) (err error) {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: release: %w", err)
	}
	began, asked := now(), 0
	p, over := l.stop()
	defer func() { l.tell(ctx, l.client.hooks.Released, p.set, began, asked, err) }()
	if over != nil {
		return saidAgain(p.set, over)
	}
	asked = 1
	return l.settle(p, l.free(ctx, began, p))
}

// settle takes note of how a Release has ended, if that is known: nothing is left for another one then.
func (l *Lock) settle(p portion, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.over = errReleased
	case !errors.Is(err, ErrLockNotHeld):
	case l.over == nil:
		l.over = err
	default: // by another one, at the same time
		return saidAgain(p.set, l.over)
	}
	return err
}

// saidAgain is the error of a Release that comes after one which was answered so.
func saidAgain(set keySet, over error) error {
	if over == errReleased { //nolint:errorlint // it is this value; else it is the error of that one
		return fmt.Errorf("redislock: release %s: %w", set, over)
	}
	return over
}

// ReleaseKeys frees some keys of the set in one step, as [Lock.Release] frees them all. The others
// stay as they are, under their token, their lease and their fencing number, and from then on the
// lock is about them alone. The last keys are left to Release, which ReleaseKeys then is.
//
// A key that is not in the set is an [ErrInvalidKeys], and a lock that was released or lost an
// [ErrLockNotHeld]: then nothing is done. Other errors are those of Release, as is what it does if
// ctx has ended, and concern the keys that were to be freed, which are not of the lock any more.
func (l *Lock) ReleaseKeys(ctx context.Context, keys ...string) (err error) {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: release: %w", err)
	}
	if len(keys) == 0 {
		return fmt.Errorf("redislock: release: %w: none are named", ErrInvalidKeys)
	}
	began := now()
	p, all, err := l.part(keys)
	switch {
	case err != nil:
		return fmt.Errorf("redislock: release: %w", err)
	case all:
		return l.Release(ctx)
	}
	defer func() { l.tell(ctx, l.client.hooks.Released, p.set, began, 1, err) }()
	return l.free(ctx, began, p)
}

// releasePatience is how long a Release waits for its answer if its context had ended before: to
// be called then is usual, after a cancelled request for example.
const releasePatience = time.Second

// A portion is what of a lock is released, and what has to be known for that.
type portion struct {
	set      keySet
	deadline moment        // of its lease
	longest  time.Duration // that any request may have asked for
	late     moment        // until then a request of the Obtain may reach the server
	strays   *strays       // those that are told to its clean-ups; may be nil
	waiter   string        // that it may enter in line once more; else empty
	shown    bool          // its token may come back
	watched  bool          // somebody was to be told of a loss, and was not yet
	whole    bool          // it is all that the lock has left
	doubted  moment        // since then an earlier Release may have freed it; zero: there was none
}

// portionLocked makes one of a set.
func (l *Lock) portionLocked(set keySet) portion {
	p := portion{set: set, deadline: l.deadline, longest: l.ttl, shown: l.shown}
	if l.terms != nil {
		p.strays = l.terms.strays
		p.late, p.waiter = p.strays.latest(l.terms.obtain), l.terms.waiter
		p.longest = max(p.longest, l.terms.longest)
	}
	return p
}

// stop ends the hold on this side: no watchdog, no contexts, no claim. If a Release was answered before,
// it returns what there is to say.
func (l *Lock) stop() (p portion, over error) {
	l.mu.Lock()
	var end func(error)
	watched := l.state == held && l.watch != nil
	if watched {
		end = l.watch.endLocked()
	}
	if l.state == held {
		l.state = released
	}
	mine := l.claim
	l.claim = nil
	p, over = l.portionLocked(l.set), l.over
	p.watched, p.whole, p.doubted = watched, true, l.doubted
	l.mu.Unlock()
	if end != nil {
		end(context.Canceled)
	}
	l.client.claims.waive(l.owner(), mine)
	return p, over
}

// part takes keys out of the set, so that nothing that is sent from now on is about them, unless they
// are all there are. What is under way is told that they are lost, and knows better by then: see
// freedMeanwhile.
func (l *Lock) part(keys []string) (p portion, all bool, err error) {
	l.mu.Lock()
	if l.state != held {
		defer l.mu.Unlock()
		return p, false, fmt.Errorf("%s: %w", l.set, l.endedLocked())
	}
	part, rest, err := l.set.split(keys)
	if err != nil || len(rest.keys) == 0 {
		l.mu.Unlock()
		return p, err == nil, err
	}
	l.set = rest
	p, mine := l.portionLocked(part), l.claim
	p.watched = l.watch != nil
	l.mu.Unlock()
	l.client.claims.reduce(mine, part.keys)
	return p, false, nil
}

// free releases what is to be released, and sees to what may be left of it.
func (l *Lock) free(ctx context.Context, began moment, p portion) error {
	wait := patience
	if ctx.Err() != nil {
		wait = releasePatience
	}
	set, ls := p.set, l.client.listeners
	c, next := l.releasing(ctx, p)
	if !l.client.transport.do(ctx, c, wait) {
		left, found := l.leftBehind(p, began.add(networkGrace)), l.astray(p)
		if c.leave(func(c *call) {
			found(c.lands())
			if c.err == nil && !now().precedes(p.late) {
				left.landed(false)
			}
			ls.rouse(set.keys)
		}) {
			left.start()
			l.doubt(p, now())
			return interrupted(ctx, "release", set)
		}
		found(moment{})
	}
	if lands := c.lands(); lands != (moment{}) && (c.strays > 1 || !p.freedBefore(c, c.doubted)) {
		l.astray(p)(lands)
	}
	if err := c.err; err != nil {
		doubted := c.doubted
		if classify(err) != final {
			l.leftBehind(p, p.late).start()
			doubted = cmp.Or(doubted, now()) // from then on that may free it
		}
		l.doubt(p, doubted)
		ls.rouse(set.keys)
		return fault("release", set, c)
	}
	if began.precedes(p.late) {
		l.leftBehind(p, p.late).start()
	}
	if c.unsure && next {
		ls.rouse(set.keys) // somebody's turn was in an answer that did not come
	}
	return l.freed(c, p)
}

// astray has the next Obtain of the token wait for a release that may be on its way, until found is
// told until when it is. A token that nobody else knows does not come back.
func (l *Lock) astray(p portion) (found func(lands moment)) {
	if !p.shown {
		return func(moment) {}
	}
	claims, owner := l.client.claims, l.owner()
	stray := claims.astray(owner, p.set.keys)
	return func(lands moment) { claims.done(owner, stray, lands) }
}

// releasing prepares the release, and reports whether somebody of this Client is next, most likely:
// then the answer says so.
func (l *Lock) releasing(ctx context.Context, p portion) (c *call, next bool) {
	set, ls := p.set, l.client.listeners
	c = l.client.transport.newCall(ctx, releaseScript, set, &l.value, 0)
	next = ls.busy(set.keys[0], nil)
	c.plain = set.reads() == 0 && set.fences == nil && p.waiter == "" && !next
	channel := ""
	if next {
		channel = ls.channel(set.keys[0])
		c.ls, c.more = ls, []any{channel}
	}
	if set.fences != nil || p.waiter != "" {
		c.extra = set.beside()
		c.more = []any{channel, flag(set.fences != nil)}
	}
	if p.waiter != "" { // a late request may have entered it once more
		c.more = append(c.more, p.waiter, unknownPlace)
	}
	return c, next
}

// doubt takes note that the lock may have been freed, by a request that was sent by then: another Release
// may find that it was.
func (l *Lock) doubt(p portion, sent moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.whole && l.doubted == (moment{}) {
		l.doubted = sent
	}
}

// freedBefore reports whether the answer says that an earlier try has freed the keys: nothing is ours,
// but one may have been executed, and when the first such was sent, if any, everything was.
func (p portion) freedBefore(c *call, doubted moment) bool {
	if c.err != nil || doubted == (moment{}) || doubted.reached(p.deadline) {
		return false
	}
	code, rest, err := c.code()
	return err == nil && code != 1 && len(rest) == len(p.set.keys)
}

// freed takes in the answer to a release.
func (l *Lock) freed(c *call, p portion) error {
	set := p.set
	code, rest, err := c.code()
	if err != nil {
		return fmt.Errorf("redislock: release %s: %w", set, err)
	}
	if code == 1 || p.freedBefore(c, c.doubted) || p.freedBefore(c, p.doubted) {
		l.client.transport.recycle(c)
		return nil
	}
	keys, err := c.lost(rest)
	if err != nil {
		return err
	}
	err = fmt.Errorf("redislock: release %s: %w: %s", set, ErrLockNotHeld, listed(keys))
	if p.watched {
		l.client.logLoss(set, err)
	}
	return err
}

// freedMeanwhile reports whether all that a script has found lost is not in the set any more.
func (l *Lock) freedMeanwhile(c *call, indexes []any) bool {
	keys, err := c.lost(indexes)
	return err == nil && len(keys) > 0 && len(without(keys, l.snapshot().keys)) == len(keys)
}

// leftBehind is the clean-up of what a request may have taken, or not freed, before it lands.
func (l *Lock) leftBehind(p portion, lands moment) *orphan {
	left := l.client.newOrphan(p.set, l.value, lands, p.longest)
	p.strays.clears(left)
	if p.waiter != "" {
		left.waiter, left.place = p.waiter, unknownPlace
	}
	return left
}
