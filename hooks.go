package redislock

import (
	"context"
	"time"
)

// Hooks are told what happens to the locks of a [Client], for metrics and traces. Any of them may
// be nil; with none set nothing is gathered. They run on the goroutine that brings the event
// about and hold it up, so they should return quickly, and not close the Client; they may be called
// concurrently.
//
// The context is the one of the call that brought the event about, or the background context for
// what happens by itself.
type Hooks struct {
	// Obtained is called when an Obtain has returned a lock.
	Obtained func(context.Context, Event)
	// Refused is called when an Obtain that had asked, or would have, has given up: Event.Err is its
	// error. Arguments that are refused at once are not told.
	Refused func(context.Context, Event)
	// Refreshed is called when the lease was extended, or was to be and Event.Err says why not.
	Refreshed func(context.Context, Event)
	// Lost is called when a lock that was held is no longer ours: Event.Err says how that is known. A
	// watched lock that a Close has given up is told, too: then Err is also redis.ErrClosed. A loss
	// that only a Release has found out is told by Released.
	Lost func(context.Context, Event)
	// Released is called when a Release has ended: Event.Err is its error.
	Released func(context.Context, Event)
}

// An Event says what happened to a lock.
type Event struct {
	Keys []string // the whole set, write keys first; shared, not to be changed
	Mode Mode     // ModeWrite if any key is a write key, else ModeRead

	// Duration is how long the operation took. Obtained, Refused: with all waiting. Lost: none.
	Duration time.Duration
	// Attempts is how often Redis was asked. Obtained, Refused: over all waits.
	Attempts int
	// Held is for how long the lock was held so far. Refreshed, Lost, Released.
	Held time.Duration
	// Err is nil if the operation did what it is for.
	Err error
}
