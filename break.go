package redislock

import (
	"context"
	"fmt"

	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// maxReason is how many bytes the reason of a Break may have.
const maxReason = 1024

// Break takes the keys from their holders, writers and readers alike, in one step, and hands them over to the next in
// line. Keys that were left ([Lock.Leave]) are freed as well. Break returns the holders that had the keys, in the order
// of the keys. It is done at most once, however late its request arrives.
//
// Break is for a holder that hangs but goes on renewing. The holder learns of the loss at its next renewal, or
// at once, with the reason, if its Client has [WithBreakNotices]; until then two may work at the same time. The
// reason has up to 1 024 bytes. A key that holds no lock is an [ErrInvalid], and no key is broken. If no answer
// comes the error is an [ErrUnknownOutcome]. docs/operating.md has the rest.
func (c *Client) Break(ctx context.Context, keys []string, reason string) ([]Holder, error) {
	set, err := c.setToBreak(keys, reason)
	if err != nil {
		return nil, fmt.Errorf("redislock: break: %w", err)
	}
	if ctx.Err() != nil {
		return nil, notAsked(ctx, "break", set)
	}
	// A Break has a token of its own, so its requests have numbers. The token holds nothing.
	by := &asker{client: c, value: owners.NewID()}
	r := new(call)
	proto.Break{
		Set: set.Set, Value: &by.value,
		Channel: listen.NoticeChannel, Text: listen.Notice{Reason: reason, Keys: set.Keys}.Text(),
	}.Fill(&r.run)
	r.begins(ctx).isOf(by, nil)
	switch {
	case !c.do(ctx, r, patience) && r.Abandon(func(*wire.Call) { c.brokenLate(r, set, reason) }):
		return nil, c.unknownBreak(ctx, by, set, reason, interrupted(ctx, "break", set))
	case r.Err == nil:
		broken, err := c.broken(ctx, r, set, reason)
		return broken, about("break", set, err)
	case r.IsUnanswered():
		return nil, c.unknownBreak(ctx, by, set, reason, about("break", set, r.fault(true)))
	}
	return nil, about("break", set, r.fault(false))
}

// setToBreak checks everything that can be checked before Redis is asked.
func (c *Client) setToBreak(keys []string, reason string) (set keySet, err error) {
	if err := c.usable(); err != nil {
		return set, err
	}
	if c.closed.Load() {
		return set, wire.ErrClosed
	}
	if len(reason) > maxReason {
		return set, invalid("reason", "it has %s, the limit is %s", count.Of(len(reason), "byte"), count.Number(maxReason))
	}
	if set, err = c.newKeySet(Set{Write: keys}, nil); err != nil {
		return set, err
	}
	if err := c.placement.check(set); err != nil {
		return set, err
	}
	set.Fences = besides(nil, "fence", set.Keys)
	return set, nil
}

// unknownBreak makes sure that an unanswered Break is not executed later, and returns its error. All tries of it ask for a
// guard in the line of the first key.
func (c *Client) unknownBreak(ctx context.Context, by *asker, set keySet, reason string, err error) error {
	home := set.as(1)
	home.Keys, home.Lines, home.Fences = home.Keys[:1], home.Lines[:1], nil
	left := c.newCleanup(home, by, owners.GuardLife)
	left.closes = true
	left.start()
	c.log.WarnContext(ctx, "redislock: outcome of break is not known", set.logged("reason", reason, "error", err)...)
	return err
}

// broken takes in the answer to a Break, and logs it: a Break is no everyday matter.
func (c *Client) broken(ctx context.Context, r *call, set keySet, reason string) ([]Holder, error) {
	broken, err := brokenOf(r, set)
	switch {
	case err != nil:
	case r.isOvertaken():
		c.log.WarnContext(ctx, "redislock: locks broken, the answer that says whose was lost", set.logged("reason", reason)...)
	default:
		c.log.WarnContext(ctx, "redislock: locks broken", set.logged("holders", len(broken), "reason", reason)...)
	}
	return broken, err
}

// brokenLate takes in the answer to a Break for which nobody waits any more.
func (c *Client) brokenLate(r *call, set keySet, reason string) {
	if r.Err == nil && !r.isOvertaken() {
		_, _ = c.broken(context.Background(), r, set, reason)
	}
}

// brokenOf reads the reply to a Break of a set.
func brokenOf(r *call, set keySet) ([]Holder, error) {
	all, conflict, err := r.run.Broken(r.Reply)
	switch {
	case err != nil:
		return nil, err
	case conflict != nil:
		return nil, notALock(newConflict(conflict, set.cut))
	}
	var broken []Holder
	for i := range all {
		b := &all[i]
		broken = append(broken, newHolder(b.Key[set.cut:], Mode(b.Mode), &b.Holder))
	}
	return broken, nil
}

// notALock is the error of a Break of a key that holds something else.
func notALock(conflict *ConflictError) error {
	without := ""
	if conflict.TTL < 0 {
		without = " without a TTL"
	}
	return invalid("keys", "%q is foreign: it holds a %s%s that is no lock", conflict.Key, conflict.Type, without)
}

// WithBreakNotices has the Client told at once when one of its watched locks is broken by [Client.Break]. The lock is
// lost then. The error is an [ErrLockLost] and an [ErrBroken], and has the reason. It needs a subscription, as
// [Options].Queue does: docs/clients.md has the rest. Default: a holder learns of a Break at its next renewal.
func WithBreakNotices() ClientOption {
	return func(s *settings) { s.listen = func(of any) { of.(*watch).listenLocked() } }
}

// A hearing is what a watch needs to hear of Breaks. The mutex of the lock guards it.
type hearing struct {
	listen.Listener
	notice   *listen.Notice // a notice that may be why keys are not ours; nil if they were found to be ours since
	checking bool           // Redis is asked whether the keys are ours
	redo     *listen.Notice // why it is to be asked once more; nil: it is not
}

// listenLocked begins to hear of Breaks.
func (w *watch) listenLocked() {
	w.hears = &hearing{}
	w.hears.Key, w.hears.Hear = w.lock.set.Keys[0], w.hear
	w.lock.client.hub.Listen(&w.hears.Listener)
}

// hear handles a notice that keys may have been broken, and asks. It asks once at a time, however many notices come.
func (w *watch) hear(n listen.Notice) {
	l := w.lock
	l.mu.Lock()
	if l.state != held || !n.Concerns(l.set.Keys) {
		l.mu.Unlock()
		return
	}
	h := w.hears
	h.notice = &n
	if h.checking {
		h.redo = &n
		l.mu.Unlock()
		return
	}
	h.checking = true
	c := w.checkLocked()
	l.mu.Unlock()
	l.client.conn.Start(&c.Call)
}

// checkLocked builds the request that asks whether the keys are ours: a renewal that leaves the lease as it is.
func (w *watch) checkLocked() *call {
	l, n := w.lock, w.hears.notice
	r := l.refreshing(context.Background(), l.set, minTTL, true)
	r.isOf(&l.asker, l.owner.Load())
	r.Then = func(*wire.Call) { w.checked(r, n) }
	return r
}

// checked handles the answer. If there is none, the next renewal finds out.
func (w *watch) checked(r *call, n *listen.Notice) {
	l, h := w.lock, w.hears
	var v proto.Verdict
	err := r.Err
	if err == nil {
		v, err = r.run.Verdict(r.Reply)
	}
	l.mu.Lock()
	if h.notice == n && err == nil && v.Code == proto.Done {
		h.notice = nil
	}
	isLost := err == nil && v.Code == proto.NotYours && l.state == held
	if isLost && h.notice == nil {
		h.notice = n // a renewal found them to be ours before they were broken
	}
	var next *call
	if h.redo != nil && l.state == held {
		h.notice, h.redo = h.redo, nil
		next = w.checkLocked()
	}
	h.checking = next != nil
	l.mu.Unlock()
	if isLost {
		_ = l.missing(v.Missing)
	}
	if next != nil {
		l.client.conn.Start(&next.Call)
	}
}
