package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/lease"
	"github.com/seed-14de3678/redislock/internal/local"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// Release frees every key of the set that is still ours, hands the lock over to the next one in line, and stops the
// watchdog. If some keys are no longer ours the error is an [ErrLockNotHeld] that names them; the others are free.
// Release does its work even if ctx has ended, and then waits one second for the answer. If no answer comes the
// error is an [ErrUnknownOutcome], and Release goes on in the background until the lease is over.
func (l *Lock) Release(ctx context.Context) error {
	free, p, first := l.releaseShort(ctx)
	if free {
		return nil
	}
	if first.call != nil {
		return l.settle(p, l.free(ctx, p, first))
	}
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: release: %w", err)
	}
	return l.release(ctx)
}

// release ends the lock, and frees its keys or leaves them.
func (l *Lock) release(ctx context.Context) (err error) {
	began, asked := clock.Now(), 0
	l.mu.Lock()
	h := l.holdLocked(ctx)
	p, end := l.stopLocked()
	over := l.over
	if h != nil { // now: meanwhile nobody gets the token, and no other Release is sent
		l.state, l.over = passedOn, errReleased
	}
	l.mu.Unlock()
	end(context.Canceled)
	if p.line == nil && over == nil && l.client.local.Polled() {
		p.line = l.client.local.Find(lineKey(p.set))
	}
	if p.line != nil && l.client.hooks.Released != nil {
		p.after = make(chan struct{})
	}
	if pace.IsGivingBack(ctx) {
		p.keep = clock.Moment{} // nobody was given the lock
	}
	defer func() {
		l.reportReleased(ctx, p.set, p.keep, began, asked, err)
		if p.after != nil {
			close(p.after)
		}
	}()
	if over != nil {
		return saidAgain(p.set, over)
	}
	if h != nil && l.passes(p, h) {
		return nil
	}
	asked = 1
	return l.settle(p, l.free(ctx, p, sent{}))
}

// passes tries to pass a hold on, and reports whether it has: otherwise the Release goes on.
func (l *Lock) passes(p part, h *hold) bool {
	if p.line.Pass(l, h, p.after) {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state, l.over = released, nil
	return false
}

// settle notes how a Release has ended, if that is known: then nothing is left for another Release.
func (l *Lock) settle(p part, err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.over = errReleased
	case !errors.Is(err, ErrLockNotHeld):
	case l.over == nil:
		l.over = err
	default: // another Release has ended at the same time
		return saidAgain(p.set, l.over)
	}
	return err
}

// saidAgain is the error of a Release after another one that was answered with over.
func saidAgain(set keySet, over error) error {
	if over == errReleased { //nolint:errorlint // it is this value; else the error of the other Release
		return about("release", set, over)
	}
	return over
}

// ReleaseKeys frees some keys of the set in one step, as [Lock.Release] does, with the same errors. The other keys are
// the lock from then on. A key that is not in the set is an [ErrInvalid], and nothing is done.
func (l *Lock) ReleaseKeys(ctx context.Context, keys []string) (err error) {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: release: %w", err)
	}
	if len(keys) == 0 {
		return fmt.Errorf("redislock: release: %w", invalid("keys", "none are named"))
	}
	began := clock.Now()
	p, all, err := l.takeOut(keys)
	switch {
	case err != nil:
		return fmt.Errorf("redislock: release: %w", err)
	case all:
		return l.Release(ctx)
	}
	if pace.IsGivingBack(ctx) {
		p.keep = clock.Moment{} // nobody was given the keys
	}
	defer func() { l.reportReleased(ctx, p.set, p.keep, began, 1, err) }()
	return l.free(ctx, p, sent{})
}

// releasePatience is how long a Release waits for its answer if its context had ended before. To be called then is
// usual, for example after a cancelled request.
const releasePatience = time.Second

// patienceOf is how much longer than ctx a Release waits for its answer.
func patienceOf(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return releasePatience
	}
	return patience
}

// A part is the part of a lock that is released, and what has to be known for that.
type part struct {
	set     keySet
	lease   lease.Lease
	keep    clock.Moment  // it is left taken until then; zero: it is freed
	watched bool          // somebody waits to be told of a loss
	whole   bool          // it is all that the lock has left
	freeing clock.Moment  // when an earlier Release may have freed it; zero: there was none
	owner   *owners.Owner // of the claim
	claim   *owners.Claim // nil if there is none; see unclaim
	line    *local.Line   // of Obtains of this Client that want the same set; nil if the lock knows of none
	after   chan struct{} // closed when the hooks know that it was released; nil if nobody waits for that
}

// stopLocked ends the hold on this side: no watchdog, no contexts. It returns a function to call without mu.
func (l *Lock) stopLocked() (p part, end func(error)) {
	p = part{set: l.set, lease: l.lease, keep: l.keep, whole: true, freeing: l.freeing, owner: l.owner.Load(), claim: l.claim, line: l.line}
	l.claim, l.line, end = nil, nil, func(error) {}
	if l.state == held {
		if l.state = released; l.watch != nil {
			p.watched, end = true, l.watch.endLocked()
		}
	}
	return p, end
}

// takeOut takes keys out of the set, so that no later request is about them. It does not if they are all the keys. A
// call that is under way is told that they are lost, and knows better by then: see freedMeanwhile.
func (l *Lock) takeOut(keys []string) (p part, all bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.endedLocked(); err != nil {
		return p, false, fmt.Errorf("%s: %w", l.set, err)
	}
	freed, rest, err := l.set.split(keys)
	if err != nil || len(rest.Keys) == 0 {
		return p, err == nil, err
	}
	l.set = rest
	p = part{set: freed, lease: l.lease, keep: l.keep, watched: l.watch != nil, owner: l.owner.Load(), claim: l.claim, line: l.line}
	l.line = nil
	return p, false, nil
}

// carrying is how a Release of the part may give its keys to the next Obtain of the Client. It gives them as they are: after an
// Upgrade they are not what the others in the line want.
func (p part) carrying(l *Lock) carrying {
	if !p.whole || p.keep != (clock.Moment{}) || p.set.Reads() > 0 || p.line == nil || p.line.Writes() != p.set.Writes {
		return carrying{}
	}
	return carrying{from: l, line: p.line, after: p.after, may: true}
}

// unclaim ends the claim on what was released or is left to a clean-up. If it came earlier, a clean-up could free the
// keys during the release, which would take them for lost.
func (p part) unclaim() {
	if p.whole {
		p.owner.Drop(p.claim)
	} else {
		p.owner.Reduce(p.claim, p.set.Keys)
	}
}

// free releases the part, and sees to what may be left of it. Keys that other locks of the token have obtained
// meanwhile are left to them. If the first request was sent already it goes on from there.
func (l *Lock) free(ctx context.Context, p part, first sent) error {
	owner := l.ownerNow()
	defer owner.Done(l.token())
	since := owner.Begin()
	if p.claim != nil && pace.IsGivingBack(ctx) {
		since = p.claim.Since()
	}
	wait := patienceOf(ctx)
	if wire.IsStaying(ctx) {
		l.client.conn.Enter()
		defer l.client.conn.Exit()
	}
	set, hub := p.set, l.client.hub
	defer p.line.Ends(l)
	for rounds := 0; ; rounds++ {
		c, end, next := first.call, first.end, false
		if first = (sent{}); c == nil {
			c, next = l.releasing(ctx, p)
			if rounds == 0 {
				c.gives = p.carrying(l)
			}
			c.isOf(&l.asker, owner)
			c.since(since)
			end = l.client.conn.Send(ctx, &c.Call, wire.Bound{}, wait)
		}
		if end != wire.Settled && c.Abandon(func(*wire.Call) { hub.AskAgain(set.Keys, nil) }) {
			p.unclaim()
			l.cleanUp(set, p)
			l.mayBeFree(p, clock.Now())
			return interrupted(ctx, "release", set)
		}
		if c.isOvertaken() && rounds < mostOvertaken {
			continue
		}
		p.unclaim()
		if c.Err != nil {
			freeing := c.Unanswered
			if wire.Classify(c.Err) != wire.Final {
				l.cleanUp(set, p)
				freeing = cmp.Or(freeing, clock.Now()) // the call may have freed it from then on
			}
			l.mayBeFree(p, freeing)
			hub.AskAgain(set.Keys, nil)
			return about("release", set, c.fault(false))
		}
		if c.IsUnanswered() && next {
			hub.AskAgain(set.Keys, nil) // the turn of a waiter was in an answer that did not come
		}
		return l.freed(c, p)
	}
}

// releasing builds the release, and reports whether a waiter of this Client is most likely next: then the answer says
// so.
func (l *Lock) releasing(ctx context.Context, p part) (r *call, next bool) {
	channel, next := l.client.hub.Next(p.set.Keys[0])
	q := proto.Release{Set: p.set.Set, Value: &l.value, Keep: p.keep, Looks: true}
	if next {
		q.Channel = channel
	}
	r = l.client.newCall()
	q.Fill(&r.run)
	r.begins(ctx).Plain = r.run.IsPlain()
	if next {
		r.Heard = l.client.heard
	}
	return r, next
}

// mayBeFree notes that a request sent at that moment may have freed the lock: another Release may find that it has.
func (l *Lock) mayBeFree(p part, sent clock.Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.whole && l.freeing == (clock.Moment{}) {
		l.freeing = sent
	}
}

// freed takes in the answer to a release. Keys that it has left to other locks of the token are released once these no
// longer count on them: their Obtain may be refused. If all keys of the part are missing, an earlier request may have freed
// them.
func (l *Lock) freed(r *call, p part) error {
	missing, err := r.run.Released(r.Reply)
	if err != nil {
		return about("release", p.set, err)
	}
	lost, spared, all := len(missing), r.run.Spared(), len(p.set.Keys)
	if spared > 0 {
		if left, _, err := p.set.split(withoutPrefix(r.run.SparedKeys(), p.set.cut)); err == nil {
			l.cleanUp(left, p)
		}
	}
	if lost == 0 || lost+spared == all && p.lease.Covers(r.Unanswered) || lost == all && p.lease.Covers(p.freeing) {
		l.client.recycle(r)
		return nil
	}
	l.mu.Lock()
	err = l.whyMissingLocked(missing)
	l.mu.Unlock()
	if err = about("release", p.set, err); p.watched {
		l.client.log.Warn(logLoss, p.set.logged("error", err)...)
	}
	return err
}

// cleanUp has a set of a part released in the background, until it is certain that it is.
func (l *Lock) cleanUp(set keySet, p part) {
	left := l.client.newCleanup(set, &l.asker, p.lease.Longest)
	left.keep = p.keep
	left.start()
}

// Leave ends the lock, as Release does, but leaves its keys taken for ttl from now, up to 365 days. Nobody holds them,
// and nobody can obtain them before that time is over; keys that were read can be read. If ttl is not positive Leave is
// a Release. docs/leaving.md has the rest.
func (l *Lock) Leave(ctx context.Context, ttl time.Duration) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: leave: %w", err)
	}
	if ttl > 0 {
		ttl, err := l.client.checkTTL(max(ttl, minTTL)) // the rest of a time may be a fraction
		if err != nil {
			return fmt.Errorf("redislock: leave: %w", err)
		}
		until := clock.Now().Add(ttl)
		l.mu.Lock()
		l.keep = l.keep.Later(until) // also for every later Release
		l.mu.Unlock()
	}
	return l.release(ctx)
}
