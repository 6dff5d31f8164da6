package reentrant

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/circle"
	"github.com/seed-14de3678/redislock/internal/clock"
)

// A Hold is one of possibly many holds that an owner has of a set of keys. It is safe for
// concurrent use. A nil Hold and a zero one hold nothing: TTL, Refresh and Release return a
// [redislock.ErrLockNotHeld].
//
// A Hold is a held.Fenced. Unlike a [redislock.Lock] it has no Leave, because other holds of the owner may
// go on with the keys, and end later. To keep the keys taken after the last hold, obtain them with
// [redislock.Options].HoldAtLeast.
type Hold struct {
	owner    *owner
	where    [1]uintptr // it was obtained
	entries  []*entry   // never changed once it is listed, as are the carriers
	carriers []*carrier

	oneEntry   [1]*entry // the memory of entries, if there is only one
	oneCarrier [1]*carrier

	// Guarded by the mutex of the owner.
	listed   bool // it is, or was, one of the holds of the owner
	released bool
	missed   error // the loss that the Release found, if there was one
	before   *Hold // before and after: the list of the owner
	after    *Hold
	lost     chan struct{} // nil if nobody has asked for it

	told circle.Circle // the contexts
}

// isNothing reports whether no Obtain has returned the hold.
func (h *Hold) isNothing() bool { return h == nil || h.owner == nil }

// listLocked makes it a hold that was obtained.
func (h *Hold) listLocked() {
	h.listed = true
	for _, e := range h.entries {
		e.shown = true
	}
	h.before = h.owner.last
	if h.before != nil {
		h.before.after = h
	}
	h.owner.last = h
}

// unlistLocked takes it out of the list of the owner.
func (h *Hold) unlistLocked() {
	if h.before != nil {
		h.before.after = h.after
	}
	if h.after != nil {
		h.after.before = h.before
	} else {
		h.owner.last = h.before
	}
	h.before, h.after = nil, nil
}

// abandon unpins what an Obtain has pinned that has failed. It reports no error: if a release cannot
// be confirmed, redislock goes on with it in the background.
func (h *Hold) abandon(ctx context.Context) {
	o := h.owner
	o.mu.Lock()
	if h.listed {
		o.mu.Unlock()
		return
	}
	idle := o.unpinLocked(h.entries)
	o.mu.Unlock()
	_ = o.free(ctx, idle)
}

// Keys returns the set: the write keys, then the read keys, without repetitions, each in the order
// in which the caller named it.
func (h *Hold) Keys() []string {
	if h.isNothing() {
		return nil
	}
	keys := make([]string, len(h.entries))
	for i, e := range h.entries {
		keys[i] = e.place.key
	}
	return keys
}

// Fence returns the fencing number of the hold: the greatest of the root locks that carry its keys,
// see [redislock.Lock.Fence]. It is 0 if one of these has no number. All holds of the same keys
// have the same number. When keys that were read are upgraded it changes, for all holds.
func (h *Hold) Fence() int64 {
	if h.isNothing() {
		return 0
	}
	var greatest int64
	for _, c := range h.carriers {
		number := c.root.Fence()
		if number == 0 {
			return 0
		}
		greatest = max(greatest, number)
	}
	return greatest
}

// Metadata returns the metadata that is stored with the first key. Keys that were held before keep the
// metadata with which they were obtained.
func (h *Hold) Metadata() string {
	if h.isNothing() {
		return ""
	}
	return h.carriers[0].root.Metadata()
}

// Deadline returns the earliest of the deadlines of the root locks that carry the keys, see
// [redislock.Lock.Deadline].
func (h *Hold) Deadline() time.Time {
	if h.isNothing() {
		return time.Time{}
	}
	var earliest time.Time
	for i, c := range h.carriers {
		if d := c.root.Deadline(); i == 0 || d.Before(earliest) {
			earliest = d
		}
	}
	return earliest
}

// TTL asks Redis for the least remaining lease of any key of the root locks that carry the keys, see
// [redislock.Lock.TTL]. If a key is no longer ours the error is a [redislock.ErrLockNotHeld]. If the hold
// was released it is one, too, and TTL asks nobody, even if there are other holds of the keys.
func (h *Hold) TTL(ctx context.Context) (time.Duration, error) {
	if err := h.usable(); err != nil {
		return 0, fmt.Errorf("reentrant: ttl %s: %w", h.name(), err)
	}
	least := maxTTL
	for _, c := range h.carriers {
		ttl, err := c.root.TTL(ctx)
		if err != nil {
			return 0, fmt.Errorf("reentrant: ttl %s: %w", h.name(), c.asLoss(err))
		}
		least = min(least, ttl)
	}
	return least, nil
}

// Refresh makes sure that the lease of every key lasts for at least ttl from now. It never makes a
// lease shorter, because others may hold the key, too. Redis is asked only if less is left. If a key
// is no longer ours the error is a [redislock.ErrLockNotHeld] and a [redislock.ErrLockLost]. If keys
// were not obtained together and some could not be refreshed, the others were refreshed. Other errors
// are as for [redislock.Lock.Refresh].
func (h *Hold) Refresh(ctx context.Context, ttl time.Duration) error {
	if err := clock.CheckTTL(ttl); err != nil {
		return fmt.Errorf("reentrant: refresh %s: %w", h.name(), &redislock.InvalidError{Argument: "ttl", Reason: err.Error()})
	}
	if err := h.usable(); err != nil {
		return fmt.Errorf("reentrant: refresh %s: %w", h.name(), err)
	}
	var failed error
	for _, c := range h.carriers {
		if err := c.refresh(ctx, ttl); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil {
		return fmt.Errorf("reentrant: refresh %s: %w", h.name(), failed)
	}
	return nil
}

// usable returns why there is nothing to ask about the hold; nil if there is.
func (h *Hold) usable() error {
	if h.isNothing() {
		return fmt.Errorf("%w: no Obtain has returned it", redislock.ErrLockNotHeld)
	}
	h.owner.mu.Lock()
	defer h.owner.mu.Unlock()
	if h.released {
		return fmt.Errorf("%w: it was released", redislock.ErrLockNotHeld)
	}
	return nil
}

// Release ends this hold. If there are other holds of the same keys it returns at once and asks nobody, and
// the lease is still renewed. If this was the last hold of a key, the key is released: see
// [redislock.Lock.Release], also for what happens if ctx has ended, and [redislock.Lock.ReleaseKeys]. If it
// was obtained with [redislock.Options].HoldAtLeast, and that time is not over, the key is left taken for the
// rest of it.
//
// If a key was lost, every hold of it returns a [redislock.ErrLockNotHeld] and
// [redislock.ErrLockLost]. The hold has ended all the same. A hold that was released before returns
// a [redislock.ErrLockNotHeld].
func (h *Hold) Release(ctx context.Context) error {
	if h.isNothing() {
		return fmt.Errorf("reentrant: release %s: %w: no Obtain has returned it", h.name(), redislock.ErrLockNotHeld)
	}
	o := h.owner
	o.mu.Lock()
	if h.released {
		o.mu.Unlock()
		return fmt.Errorf("reentrant: release %s: %w: it was released before", h.name(), redislock.ErrLockNotHeld)
	}
	var err error
	over := context.Canceled // what the contexts are told
	h.released = true
	for _, c := range h.carriers {
		if c.isLost() {
			err, over = c.whyLost(), c.cause()
		}
	}
	h.unlistLocked()
	idle := o.unpinLocked(h.entries)
	o.mu.Unlock()

	h.told.End(over)
	switch failed := o.free(ctx, idle); {
	case failed == nil:
	case err == nil || errors.Is(failed, redislock.ErrLockNotHeld) && !errors.Is(err, redislock.ErrBroken):
		err = failed
	default:
		err = fmt.Errorf("%w: %w", err, failed)
	}
	if err != nil {
		err = fmt.Errorf("reentrant: release %s: %w", h.name(), err)
	}
	if errors.Is(err, redislock.ErrLockNotHeld) {
		o.mu.Lock()
		h.missed = err
		o.mu.Unlock()
	}
	return err
}

// wasReleased reports whether the hold was released, and the loss that the Release found.
func (h *Hold) wasReleased() (released bool, missed error) {
	h.owner.mu.Lock()
	defer h.owner.mu.Unlock()
	return h.released, h.missed
}

// name is the name of the hold in errors: its first key, and how many others it has.
func (h *Hold) name() string {
	if h.isNothing() {
		return named("", 0)
	}
	return named(h.entries[0].place.key, len(h.entries))
}

// named names a set of n keys.
func named(first string, n int) string {
	switch n {
	case 0:
		return "no keys"
	case 1:
		return strconv.Quote(first)
	}
	return fmt.Sprintf("%q and %d more", first, n-1)
}
