package pace

import (
	"context"
	"time"
)

// A Limit bounds how long an Obtain takes that is made of several steps: each step gets what is left. The
// zero Limit bounds nothing.
type Limit struct {
	end  time.Time
	over error // the cause with which contexts end
}

// Within makes the limit of an Obtain that begins now and may take so long; 0: as long as it likes.
func Within(wait time.Duration, over error) Limit {
	if wait == 0 {
		return Limit{}
	}
	return Limit{end: time.Now().Add(wait), over: over}
}

// Left returns how long the next step may take: at least a microsecond, so that it is made in any case; 0 if
// there is no limit.
func (l Limit) Left() time.Duration {
	if l.end.IsZero() {
		return 0
	}
	return max(time.Until(l.end), time.Microsecond)
}

// Context returns a context derived from ctx that ends when the limit is reached, but has at least so long.
func (l Limit) Context(ctx context.Context, least time.Duration) (context.Context, context.CancelFunc) {
	if l.end.IsZero() {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, max(time.Until(l.end), least), l.over)
}

// OneStep is how long a step takes that goes well, and that a limit leaves to it in any case.
const OneStep = 100 * time.Millisecond

type waiting struct{}

// OnWaiting marks the context of an Obtain that is a step of another one. If tell is not nil that one is told when the
// step waits, and why.
func OnWaiting(ctx context.Context, tell func(why error)) context.Context {
	return context.WithValue(ctx, waiting{}, tell)
}

// Waits is called by an Obtain that begins to wait, or goes on with that, on its own goroutine.
func Waits(ctx context.Context, why error) {
	if tell, _ := ctx.Value(waiting{}).(func(error)); tell != nil {
		tell(why)
	}
}

// IsStep reports whether a context is that of such a step.
func IsStep(ctx context.Context) bool { return ctx.Value(waiting{}) != nil }

// A NotAskedError is that of an Obtain which has asked nobody, and was not about to, because of its arguments
// for example.
type NotAskedError struct{ Err error }

func (e *NotAskedError) Error() string { return e.Err.Error() }

func (e *NotAskedError) Unwrap() error { return e.Err }
