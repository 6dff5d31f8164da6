package line_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/proof/random"
)

// A lateLife is what somebody does with a lock, drawn before it wants it.
type lateLife struct {
	ttl, least, patience time.Duration
	fenced               bool
	does                 []lateDeed // what it does not end ends with its lease
}

// A lateDeed is something done with a lock.
type lateDeed struct {
	after time.Duration // the one before
	what  string
	ttl   time.Duration
}

func newLateLife(r *lateRun) *lateLife {
	l := &lateLife{ttl: r.between(200, 3000)}
	if random.Chance(r.rng, 15) {
		l.least = r.between(50, 1500)
	}
	if random.Chance(r.rng, 25) {
		l.patience = r.between(50, 3000)
	}
	for range r.rng.IntN(3) {
		does := []string{"refresh", "downgrade", "upgrade", "part", "release", "release", "leave"}
		what := does[r.rng.IntN(len(does))]
		l.does = append(l.does, lateDeed{r.between(1, 600), what, r.between(100, 1500)})
	}
	return l
}

// A lateHolder has a lock.
type lateHolder struct {
	run   *lateRun
	party *party
	lock  *redislock.Lock
	ttl   time.Duration
	least time.Time
	holds map[string]*lateHold
}

// take notes that a key is taken, by a lease that begins. The mutex of the story is locked.
func (h *lateHolder) take(key string, writes bool, ttl time.Duration, by *lateWant) {
	now := time.Now()
	hold := &lateHold{key: key, write: writes, span: span{now, now.Add(ttl)}, due: now.Add(ttl), by: by}
	h.holds[key] = hold
	h.run.holds = append(h.run.holds, hold)
}

// do does something, and reports whether the lock is still held.
func (h *lateHolder) do(d lateDeed) bool {
	r := h.run
	keys := slices.Sorted(maps.Keys(h.holds))
	if d.what == "part" && len(keys) < 2 {
		return true
	}
	ctx := context.WithoutCancel(h.party.ctx)
	var err error
	switch d.what {
	case "refresh":
		err = h.lock.Refresh(ctx, d.ttl)
	case "downgrade":
		err = h.lock.Downgrade(ctx)
	case "upgrade":
		err = h.lock.Upgrade(ctx)
	case "part":
		err = h.lock.ReleaseKeys(ctx, []string{r.world.Key(keys[0])})
	case "release":
		err = h.lock.Release(ctx)
	case "leave":
		err = h.lock.Leave(ctx, d.ttl)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.party.gone {
		return false
	}
	now := time.Now()
	r.say("%s: %s %v: %v", h.holds[keys[0]].by.who, d.what, d.ttl, err)
	if errors.Is(err, redislock.ErrUnknownOutcome) {
		h.mayBeLonger(d.ttl)
	}
	if err != nil {
		return d.what == "upgrade" && errors.Is(err, redislock.ErrNotObtained)
	}
	left := now
	switch d.what {
	case "refresh", "downgrade", "upgrade":
		if d.what == "refresh" {
			h.ttl = d.ttl
		}
		for key, hold := range h.holds {
			hold.till = now
			h.take(key, d.what == "upgrade" || d.what == "refresh" && hold.write, h.ttl, hold.by)
		}
		return true
	case "part":
		h.leave(keys[0], now)
		delete(h.holds, keys[0])
		return true
	case "leave":
		left = now.Add(d.ttl)
	}
	for _, key := range keys {
		h.leave(key, left)
	}
	return false
}

// mayBeLonger notes that a lease may have begun.
func (h *lateHolder) mayBeLonger(ttl time.Duration) {
	for key, hold := range h.holds {
		ttl = max(ttl, h.ttl, time.Until(hold.till))
		hold.till = time.Now()
		h.take(key, hold.write, ttl, hold.by)
	}
}

// leave notes that a key is free from a moment on, or when the time is over for which it is taken at least.
func (h *lateHolder) leave(key string, at time.Time) {
	hold := h.holds[key]
	hold.till = time.Now()
	if at = latest(at, h.least); at.After(hold.till) {
		h.take(key, hold.write, time.Until(at), hold.by)
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
