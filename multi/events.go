package multi

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/serial"
)

// events tells hooks what becomes of one lock. It never changes. A nil events tells nobody, and measures
// nothing.
type events struct {
	id    uint64
	hooks redislock.Hooks
	keys  []string
	mode  redislock.Mode
	name  string
	way   string

	watchdog bool // the lock does not end by itself
}

// newEvents returns nil if there are no hooks.
func newEvents(hooks redislock.Hooks, parts []Part, opt *redislock.Options) *events {
	if hooks.Obtained == nil && hooks.Refused == nil && hooks.Waiting == nil && hooks.Waited == nil &&
		hooks.Refreshed == nil && hooks.Lost == nil && hooks.Released == nil {
		return nil
	}
	e := &events{id: serial.Next(), hooks: hooks, keys: keysOf(parts), mode: redislock.ModeRead, name: opt.Name, way: "once", watchdog: opt.Watchdog}
	if slices.ContainsFunc(parts, func(p Part) bool { return len(p.Write) > 0 }) {
		e.mode = redislock.ModeWrite
	}
	switch {
	case opt.Queue:
		e.way = "queue"
	case opt.RetryStrategy != nil:
		e.way = "poll"
	}
	return e
}

// keysOf returns the keys of parts in the order in which they are taken: the write keys, then the read keys.
func keysOf(parts []Part) []string {
	n := 0
	for i := range parts {
		n += len(parts[i].Write) + len(parts[i].Read)
	}
	keys := make([]string, 0, n)
	type of struct {
		part int
		key  string
	}
	seen := make(map[of]bool, n)
	add := func(i int, more []string) {
		for _, key := range more {
			if at := (of{i, key}); !seen[at] {
				seen[at] = true
				keys = append(keys, key)
			}
		}
	}
	for i := range parts {
		add(i, parts[i].Write)
	}
	for i := range parts {
		add(i, parts[i].Read)
	}
	return keys
}

// told returns the hooks.
func (e *events) told() redislock.Hooks {
	if e == nil {
		return redislock.Hooks{}
	}
	return e.hooks
}

// now returns the time, if somebody wants to know it.
func (e *events) now() clock.Moment {
	if e == nil {
		return clock.Moment{}
	}
	return clock.Now()
}

// since returns how much time has passed since began; 0 if nobody has looked at the clock then.
func (e *events) since(began clock.Moment) time.Duration {
	if e == nil || began == (clock.Moment{}) {
		return 0
	}
	return clock.Now().Since(began)
}

// tell calls a hook, if there is one. It adds what all events of the lock have in common.
func (e *events) tell(ctx context.Context, hook func(context.Context, redislock.Event), about redislock.Event) {
	if hook == nil {
		return
	}
	about.ID, about.Keys, about.Mode, about.Name, about.Way = e.id, e.keys, e.mode, e.name, e.way
	hook(ctx, about)
}

// expires is when the lock ends by itself, after an operation with this error; zero if it has ended, or if a
// watchdog renews it.
func (l *Lock) expires(err error) time.Time {
	if l.events == nil || l.events.watchdog || l.hasEnded() || errors.Is(err, redislock.ErrLockNotHeld) {
		return time.Time{}
	}
	return l.Deadline()
}
