package redislock

import (
	"context"
	"time"
)

// Hooks are functions that a [Client] calls when something happens to its locks, for metrics and
// traces. Any of them may be nil; if all are nil nothing is measured. A hook runs on the goroutine
// that has caused the event and delays it, so it should return quickly, and must not close the
// Client. Hooks may be called concurrently.
//
// The context is that of the call that has caused the event. For an event that no call has caused
// it is the background context. No event of a lock is told before its Obtained has returned, but for
// renewals by the watchdog.
type Hooks struct {
	// Obtained is called when an Obtain is about to return a lock. If a hook panics then, the lock is
	// released, because nobody gets it.
	Obtained func(context.Context, Event)
	// Refused is called when an Obtain gives up after it has asked Redis, or was about to. Event.Err
	// is its error. Refused is not called for arguments that are refused at once.
	Refused func(context.Context, Event)
	// Waiting is called when an Obtain begins to wait: after its first attempt, if there is to be
	// another one. Event.Err says why it has to. For each Waiting there is one Waited, before
	// Obtained or Refused, when it waits no longer: with the lock, or with the error in Event.Err. So
	// the calls of the one less those of the other are the number of those who wait at that moment. If
	// a RetryStrategy or a hook panics while an Obtain waits, Waited and Refused are called all the
	// same.
	Waiting func(context.Context, Event)
	Waited  func(context.Context, Event)
	// Refreshed is called when the lease was extended, or could not be; then Event.Err says why.
	Refreshed func(context.Context, Event)
	// Lost is called when a lock that was held is no longer ours. Event.Err says how that is known.
	// It is also called for a watched lock that a Close has given up; then Err matches
	// redis.ErrClosed, too. A loss that only a Release has found out is reported to Released
	// instead.
	Lost func(context.Context, Event)
	// Released is called when a Release has ended: Event.Err is its error.
	Released func(context.Context, Event)
}

// And returns hooks that call first these and then each of the others, in this order. A function that
// is nil in all of them is nil. Options such as [WithHooks] do the same with what they are given.
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

// any reports whether somebody is to be told of anything.
func (h *Hooks) any() bool {
	return h.Obtained != nil || h.Refused != nil || h.Waiting != nil || h.Waited != nil ||
		h.Refreshed != nil || h.Lost != nil || h.Released != nil
}

// An Event says what happened to a lock.
type Event struct {
	// ID is the same in all events of one Obtain and of the lock that it returns, and differs from that
	// of every other one in this process, of packages quorum and multi, too. So what begins with one
	// event and ends with another can be put together.
	ID   uint64
	Keys []string // the whole set, write keys first; shared, not to be changed
	Mode Mode     // ModeWrite if any key is a write key, else ModeRead
	Name string   // [Options].Name of the Obtain; empty after an Attach
	// Way is how the Obtain waits if it has to: "once" for one attempt, "poll" for attempts as its
	// RetryStrategy says or because of Wait, "queue" for standing in line; empty after an Attach.
	Way string

	// Duration is how long the operation took. Obtained and Refused: all waiting included. Waiting:
	// the time before. Waited: the waiting alone. Lost: zero.
	Duration time.Duration
	// Attempts is how often Redis was asked. Obtained, Refused, Waiting and Waited: in all attempts
	// together, until then.
	Attempts int
	// Held is how long the lock has been held so far. It is set for Refreshed, Lost and Released.
	Held time.Duration
	// Kept is for how long the keys stay taken after a Release, by [Lock.Leave] or
	// [Options].HoldAtLeast. It is 0 if they are free, and if some of them were lost before.
	Kept time.Duration
	// Fence is the fencing number of the lock, once it has one: see [Lock.Fence].
	Fence int64
	// Expires is when the lock ends if nothing else happens. It is set for Obtained and Refreshed of a
	// lock without a watchdog, of whose end perhaps nobody is told.
	Expires time.Time
	// Ended is set if nothing of the lock is held any more, as far as its holder is concerned: for Lost,
	// and for Released unless a [Lock.ReleaseKeys] has left some of the keys. A lock can have several
	// such events, because it can be released after it was lost, and again; the first one counts.
	Ended bool
	// Err is nil if the operation has succeeded. Waiting: why the first attempt has not.
	Err error
}
