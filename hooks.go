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
	// Obtained is called when an Obtain has returned a lock.
	Obtained func(context.Context, Event)
	// Refused is called when an Obtain gives up after it has asked Redis, or was about to. Event.Err
	// is its error. Refused is not called for arguments that are refused at once.
	Refused func(context.Context, Event)
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

	// Duration is how long the operation took. Obtained and Refused: all waiting included. Lost:
	// zero.
	Duration time.Duration
	// Attempts is how often Redis was asked. Obtained and Refused: in all attempts together.
	Attempts int
	// Held is how long the lock has been held so far. It is set for Refreshed, Lost and Released.
	Held time.Duration
	// Err is nil if the operation has succeeded.
	Err error
}
