package redislock

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/serial"
)

// Hooks are functions that a [Client] calls when something happens to its locks, for metrics and traces. Any of them
// may be nil. A hook runs on the goroutine that has caused the event, so it should return quickly, and must not close
// the Client. Hooks may be called concurrently. They get the context of the call that has caused the event, or the
// background context. Before Obtained has returned for a lock, only renewals of that lock are told.
type Hooks struct {
	// Obtained is called when an Obtain is about to return a lock. If the hook panics, the lock is released.
	Obtained func(context.Context, Event)
	// Refused is called when an Obtain gives up after it has asked Redis, or was about to. Event.Err is its error.
	Refused func(context.Context, Event)
	// Waiting is called when an Obtain begins to wait, after its first attempt; Event.Err says why. Waited is called
	// when it stops waiting, for any reason. The one count minus the other is how many Obtains wait.
	Waiting func(context.Context, Event)
	Waited  func(context.Context, Event)
	// Refreshed is called when the lease was extended, or could not be; then Event.Err says why.
	Refreshed func(context.Context, Event)
	// Lost is called when a lock that was held is no longer ours. Event.Err says how that is known. If only a Release
	// has found the loss, Released is called instead.
	Lost func(context.Context, Event)
	// Released is called when a Release has ended: Event.Err is its error.
	Released func(context.Context, Event)
}

// And returns hooks that call first these and then each of the others, in this order.
func (h Hooks) And(others ...Hooks) Hooks {
	joined := h
	for i := range others {
		h := &others[i]
		joined.Obtained = joinHook(joined.Obtained, h.Obtained)
		joined.Refused = joinHook(joined.Refused, h.Refused)
		joined.Waiting = joinHook(joined.Waiting, h.Waiting)
		joined.Waited = joinHook(joined.Waited, h.Waited)
		joined.Refreshed = joinHook(joined.Refreshed, h.Refreshed)
		joined.Lost = joinHook(joined.Lost, h.Lost)
		joined.Released = joinHook(joined.Released, h.Released)
	}
	return joined
}

func joinHook(first, second func(context.Context, Event)) func(context.Context, Event) {
	switch {
	case first == nil:
		return second
	case second == nil:
		return first
	}
	return func(ctx context.Context, e Event) {
		first(ctx, e)
		second(ctx, e)
	}
}

// any reports whether there is a hook.
func (h *Hooks) any() bool {
	return h.Obtained != nil || h.Refused != nil || h.Waiting != nil || h.Waited != nil ||
		h.Refreshed != nil || h.Lost != nil || h.Released != nil
}

// An Event says what happened to a lock.
type Event struct {
	// ID is the same in all events of one Obtain and of its lock, and in no others of this process.
	ID   uint64
	Keys []string // the whole set, write keys first; shared, not to be changed
	Mode Mode     // ModeWrite if any key is a write key, else ModeRead
	Name string   // [Options].Name of the Obtain; empty after an Attach
	Way  string   // how the Obtain waits: "once" for one attempt, "poll", or "queue"; empty after an Attach

	// Duration is how long the operation took. Waiting: the time before. Waited: the waiting alone. Lost: zero.
	Duration time.Duration
	// Attempts is how often Redis was asked, in all attempts together.
	Attempts int
	// Held is how long the lock has been held so far, for Refreshed, Lost and Released.
	Held time.Duration
	// Kept is for how long the keys stay taken after a Release, by [Lock.Leave] or [Options].HoldAtLeast.
	Kept time.Duration
	// Fence is the fencing number of the lock, once it has one: see [Lock.Fence].
	Fence int64
	// Expires is when the lock ends if nothing else happens, for Obtained and Refreshed without a watchdog.
	Expires time.Time
	// Ended is set if the holder has nothing of the lock any more, for Lost and Released. If a lock has several such
	// events the first one counts.
	Ended bool
	// Err is nil if the operation has succeeded. Waiting: why the first attempt has not.
	Err error
}

// What follows is what the hooks are told, and when. Without hooks nothing is measured for it.

// A label is what all events of one Obtain, and of its lock, have in common. The mutex of the lock guards announced.
type label struct {
	id   uint64
	name string // Options.Name
	way  string
	// announced is set once the hooks know of the lock; from then on they are told of its loss.
	announced bool
	waits     clock.Moment // when they were told that the Obtain waits; zero: they were not
	faulty    error        // of an Attach, which has no events then: every operation returns it
}

// newLabel makes the label of a lock; nil if there are no hooks.
func (s *settings) newLabel(opt *Options) *label {
	switch {
	case !s.hooks.any():
		return nil
	case opt == nil:
		return &label{id: serial.Next(), announced: true}
	}
	return &label{id: serial.Next(), name: opt.Name, way: wayOf(opt)}
}

// wayOf says how an Obtain with these options waits.
func wayOf(opt *Options) string {
	switch {
	case opt.Queue:
		return "queue"
	case strategyOf(opt) != nil:
		return "poll"
	}
	return "once"
}

// event makes the event of an operation on a set, which ends at this moment.
func (l *label) event(set keySet, began clock.Moment, attempts int, err error) Event {
	return Event{
		ID: l.id, Keys: set.shown(), Mode: set.mode(), Name: l.name, Way: l.way,
		Duration: clock.Now().Since(began), Attempts: attempts, Err: err,
	}
}
