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
// it is the background context.
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

// An Event says what happened to a lock.
type Event struct {
	Keys []string // the whole set, write keys first; shared, not to be changed
	Mode Mode     // ModeWrite if any key is a write key, else ModeRead
	Name string   // [Options].Name of the Obtain; empty after an Attach
	Way  Way      // in which the Obtain waits if it has to; empty after an Attach

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
	// Err is nil if the operation has succeeded. Waiting: why the first attempt has not.
	Err error
}

// A Way says how an Obtain waits.
type Way string

const (
	// WayOnce is that of an Obtain without a RetryStrategy, which makes one attempt.
	WayOnce Way = "once"
	// WayPoll is that of an Obtain that asks again as its RetryStrategy says.
	WayPoll Way = "poll"
	// WayQueue is that of an Obtain that stands in line.
	WayQueue Way = "queue"
)
