package work

import (
	"context"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// This file is what a caller does with a lock that it holds. An operation reports whether it makes sense to go on with the
// lock.

// plain is the lock, if it is one of package redislock.
func (h *hold) plain() *redislock.Lock { return h.lock.(*redislock.Lock) }

// refresh begins a new lease.
func (h *hold) refresh(ttl time.Duration) bool {
	ctx, over := h.ending()
	defer over()
	shortens := ttl < h.longest
	h.longest = max(h.longest, ttl)
	e := history.Event{Action: history.Refresh, TTL: ttl}
	return h.do(ctx, e, shortens, func() error { return h.lock.Refresh(ctx, ttl) }) == nil
}

// upgrade makes all keys write keys, if nobody else reads them.
func (h *hold) upgrade() bool {
	e := history.Event{Action: history.Upgrade, Write: h.write, Read: h.read}
	ok, refused := h.convert(e, h.plain().Upgrade)
	if ok {
		h.write, h.read = slices.Concat(h.write, h.read), nil
	}
	return ok || refused
}

// downgrade makes all keys read keys.
func (h *hold) downgrade() bool {
	e := history.Event{Action: history.Downgrade, Write: h.write, Read: h.read}
	ok, _ := h.convert(e, h.plain().Downgrade)
	if ok {
		h.write, h.read = nil, slices.Concat(h.write, h.read)
	}
	return ok
}

func (h *hold) convert(e history.Event, fn func(context.Context) error) (ok, refused bool) {
	ctx, over := h.ending()
	defer over()
	err := h.do(ctx, e, false, func() error { return fn(ctx) })
	return err == nil, outcome(e.Action, err) == history.Refused
}

// releaseKeys frees some of the keys, if there are several.
func (h *hold) releaseKeys() bool {
	keys := slices.Concat(h.write, h.read)
	if len(keys) < 2 {
		return true
	}
	freed := h.some(keys, len(keys)-1)
	has := func(key string) bool { return slices.Contains(freed, key) }
	not := func(key string) bool { return !has(key) }
	ctx, over := h.ending()
	defer over()
	e := history.Event{Action: history.ReleaseKeys, Write: filter(h.write, has), Read: filter(h.read, has)}
	err := h.do(ctx, e, false, func() error { return h.plain().ReleaseKeys(ctx, freed) })
	h.write, h.read = filter(h.write, not), filter(h.read, not)
	return outcome(e.Action, err) != history.NotHeld
}

// filter returns those of the keys that are wanted.
func filter(keys []string, want func(string) bool) []string {
	var some []string
	for _, key := range keys {
		if want(key) {
			some = append(some, key)
		}
	}
	return some
}

// remaining asks the server how long the lease is still.
func (h *hold) remaining() bool {
	ctx, over := h.ending()
	defer over()
	return h.do(ctx, history.Event{Action: history.Remaining}, false, func() error {
		_, err := h.lock.TTL(ctx)
		return err
	}) == nil
}

// release frees all keys, and once more if nobody knows whether that was done. The hold has ended then.
func (h *hold) release() {
	h.finish(history.Event{Action: history.Release}, h.lock.Release)
}

// leave ends the lock, and leaves the keys for so long.
func (h *hold) leave(kept time.Duration) {
	e := history.Event{Action: history.Leave, Write: h.write, Read: h.read, Kept: kept}
	leave := h.lock.(interface {
		Leave(ctx context.Context, ttl time.Duration) error
	}).Leave
	h.finish(e, func(ctx context.Context) error { return leave(ctx, kept) })
}

// finish ends the lock.
func (h *hold) finish(e history.Event, fn func(context.Context) error) {
	ctx, over := h.ending()
	err := h.do(ctx, e, true, func() error { return fn(ctx) })
	over()
	if outcome(e.Action, err) == history.Unknown && random.Chance(h.rng, 50) {
		ctx, over := h.ending()
		_ = h.do(ctx, history.Event{Action: history.Release}, true, func() error { return h.lock.Release(ctx) })
		over()
	}
	h.end()
}
