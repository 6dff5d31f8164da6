package redislock

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// WithBreakNotices has the Client told at once when one of its watched locks is broken by [Client.Break]. The lock is
// lost then. The error is an [ErrLockLost] and an [ErrBroken], and has the reason. It needs a subscription, as
// [Options].Queue does: docs/clients.md has the rest. Default: a holder learns of a Break at its next renewal.
func WithBreakNotices() ClientOption { return func(c *Client) { c.listen = (*watch).listenLocked } }

// listenForBreaks prepares what WithBreakNotices asks for.
func (c *Client) listenForBreaks() {
	switch {
	case c.listen == nil || c.unfit != nil:
	case !c.hub.CanListen():
		c.unfit = fmt.Errorf("%w: WithBreakNotices subscribes, and of a %T only Eval and EvalSha are used: say with WithWrapped what it wraps",
			errors.ErrUnsupported, c.conn.Redis())
	default:
		c.hub.Deaf(func(err error) {
			c.log.Info("redislock: notices of Break are not heard, trying again", "error", wire.Legible(err))
		})
	}
}

// A hearing is what a watch needs to hear of Breaks. The mutex of the lock guards it.
type hearing struct {
	listen.Listener
	notice   *listen.Notice // a notice that may be why keys are not ours; nil if they were found to be ours since
	checking bool           // Redis is asked whether the keys are ours
	redo     bool           // and is to be asked once more
}

// listenLocked begins to hear of Breaks.
func (w *watch) listenLocked() {
	w.hears = &hearing{}
	w.hears.Key, w.hears.Hear = w.lock.set.keys[0], w.hear
	w.lock.client.hub.Listen(&w.hears.Listener)
}

// hear handles a notice that keys may have been broken, and asks. It asks once at a time, however many notices come.
func (w *watch) hear(n listen.Notice) {
	l := w.lock
	l.mu.Lock()
	if l.state != held || !n.Concerns(l.set.keys) {
		l.mu.Unlock()
		return
	}
	h := w.hears
	h.notice = &n
	if h.checking {
		h.redo = true
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
	l := w.lock
	n := w.hears.notice
	r := l.refreshing(context.Background(), l.set, minTTL, true)
	r.isOf(l, l.owner.Load())
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
	again := h.redo && l.state == held
	h.redo, h.checking = false, again
	var next *call
	if again {
		if h.notice == nil {
			h.notice = n
		}
		next = w.checkLocked()
	}
	l.mu.Unlock()
	if isLost && !l.freedMeanwhile(v.Missing) {
		_ = l.missing("check", v.Missing)
	}
	if next != nil {
		l.client.conn.Start(&next.Call)
	}
}

// whyMissing is the error of keys that are not ours. It says that somebody has broken them, if the Client has heard so.
func (l *Lock) whyMissing(keys []string, cut int) error {
	err := &missingError{keys: withoutPrefix(keys, cut)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watch == nil || l.watch.hears == nil {
		return err
	}
	if n := l.watch.hears.notice; n != nil && !n.Ended && n.Concerns(keys) {
		err.broken, err.reason = ErrBroken, n.Reason
	}
	return err
}

// causeOf is the cause that contexts get when a lock is lost for this reason.
func causeOf(why error) error {
	if errors.Is(why, ErrBroken) {
		return why
	}
	return ErrLockLost
}
