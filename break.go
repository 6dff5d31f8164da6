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

// Break takes the keys from whoever holds them, writers and readers alike, in one step, and hands
// them over to those who stand in line. A key that was left ([Lock.Leave]) is freed as well, and a
// key that is free is no error. Break returns the holders that had the keys, in the order of the keys.
//
// Break is for a holder that hangs but goes on renewing, or for a lease that is much too long. It
// breaks what the lock has promised: the holder works on until it learns of the loss. A holder that
// renews learns of it at its next renewal. One whose Client was made with [WithBreakNotices] learns
// of it at once, and of the reason. The holder's context ends, and its operations return an
// [ErrLockNotHeld]. Until then two may work at the same time, unless the resource compares fencing
// numbers: the number of the next owner is greater than that of the last one ([Lock.Fence]).
//
// The reason is told to those holders, and logged; it may be empty, and has up to 1 024 bytes. The
// keys are those of one set, as for [Client.Obtain], with the same errors. If a key holds something
// that is no lock the error is an [ErrInvalid] that names it, and no key is broken.
//
// A Break is done once at most, however late its request arrives, and however often it was sent:
// it does not take the keys from their next owner as well. If ctx ends or no answer comes the error
// is an [ErrUnknownOutcome]: the keys were broken, or the request may still be on its way. A clean-up
// in the background sees to it that it does nothing any more. Until that was answered the request may
// break whoever holds the keys by then, once. Look by [Client.Inspect] who holds them before you
// break them once more. If the keys were broken, but the answer that says from whom was lost, Break
// returns nil and an empty list, and says so in the log.
//
// The server does nothing else while it breaks a set. For ten thousand keys that takes some 30 ms if
// they are written, and 50 to 80 ms if they are read or fenced, beside what the hand-over takes: see
// [WithMaxKeys]. A large set can be broken in parts.
//
// Each Break that was done is one line in the log of [WithLogger], at the level of a warning, with
// the keys, the number of the owners, and the reason; so is one whose outcome is not known. A user of
// Redis who may release may break: docs/rights.md.
func (c *Client) Break(ctx context.Context, keys []string, reason string) ([]Holder, error) {
	set, err := c.setToBreak(keys, reason)
	if err != nil {
		return nil, fmt.Errorf("redislock: break: %w", err)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("redislock: break %s: not asked: %w", set, context.Cause(ctx))
	}
	// It has a token of its own, as a lock has, which holds nothing: so its requests have numbers.
	by := &Lock{client: c, set: set, value: owners.NewID()}
	w := by.ownerNow()
	defer w.Done(by.token())
	r := new(call)
	proto.Break{
		Set: set.names(), Value: &by.value,
		Channel: listen.NoticeChannel, Text: listen.Notice{Reason: reason, Keys: set.keys}.Text(),
	}.Fill(&r.run)
	r.begins(ctx).ownedBy(w, c.conn)
	if !c.do(ctx, r, patience) && r.Leave(func(*wire.Call) { c.brokenLate(r, set, reason) }) {
		c.closeBreak(by)
		err := interrupted(ctx, "break", set)
		c.logUnknownBreak(ctx, set, reason, err)
		return nil, err
	}
	if r.Err != nil {
		unknown := r.IsUnanswered() || wire.Classify(r.Err) == wire.Unknown
		if unknown {
			c.closeBreak(by)
		}
		err := explained("break", set, r, unknown)
		if unknown {
			c.logUnknownBreak(ctx, set, reason, err)
		}
		return nil, err
	}
	broken, err := c.broken(ctx, r, set, reason)
	if err != nil {
		return nil, fmt.Errorf("redislock: break %s: %w", set, err)
	}
	return broken, nil
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
	if set, err = c.newKeySet(Set{Write: keys}); err != nil {
		return set, err
	}
	if err := c.placement.check(set); err != nil {
		return set, err
	}
	set.fences = besides(nil, "fence", set.keys)
	return set, nil
}

// closeBreak sees to it that a Break to which nobody has answered is not executed later. All tries of it ask for
// a guard in the line of the first key.
func (c *Client) closeBreak(by *Lock) {
	home := by.set.as(0) // to read, so that no reader is looked through for its token
	home.keys, home.lines, home.fences = home.keys[:1], home.lines[:1], nil
	left := c.newCleanup(home, by, owners.GuardLife)
	left.closes = true
	left.start()
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

func (c *Client) logUnknownBreak(ctx context.Context, set keySet, reason string, err error) {
	c.log.WarnContext(ctx, "redislock: outcome of break is not known", set.logged("reason", reason, "error", err)...)
}

// brokenOf reads the reply to a Break of a set.
func brokenOf(r *call, set keySet) ([]Holder, error) {
	all, conflict, err := r.run.Broken(r.Reply)
	switch {
	case err != nil:
		return nil, err
	case conflict != nil:
		return nil, notALock(newConflict(conflict, set))
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
