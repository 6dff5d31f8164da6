package pace

import (
	"context"
	"time"
)

// A Limit bounds how long an Obtain of several steps takes: each step gets the time that is left. The zero Limit bounds
// nothing.
type Limit struct {
	end  time.Time
	over error // the cause with which contexts end
}

// Within makes the limit of an Obtain that begins now and may take so long; 0: without limit.
func Within(wait time.Duration, over error) Limit {
	if wait == 0 {
		return Limit{}
	}
	return Limit{end: time.Now().Add(wait), over: over}
}

// Left returns how long the next step may take: at least a microsecond, so that it is made in any case; 0 if there is
// no limit.
func (l Limit) Left() time.Duration {
	if l.end.IsZero() {
		return 0
	}
	return max(time.Until(l.end), time.Microsecond)
}

// Context returns a context derived from ctx that ends when the limit is reached, but not before least has passed.
func (l Limit) Context(ctx context.Context, least time.Duration) (context.Context, context.CancelFunc) {
	if l.end.IsZero() {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, max(time.Until(l.end), least), l.over)
}

// OneStep is how long a step takes that goes well; a limit leaves so much to a step in any case.
const OneStep = 100 * time.Millisecond

type waiting struct{}

// OnWaiting marks the context of an Obtain that is a step of a larger one. If tell is not nil, it is called when the
// step waits, and told why.
func OnWaiting(ctx context.Context, tell func(why error)) context.Context {
	return context.WithValue(ctx, waiting{}, tell)
}

// Waits is called by an Obtain that begins or continues to wait, on its own goroutine.
func Waits(ctx context.Context, why error) {
	if tell, _ := ctx.Value(waiting{}).(func(error)); tell != nil {
		tell(why)
	}
}

// IsStep reports whether a context is the context of such a step.
func IsStep(ctx context.Context) bool { return ctx.Value(waiting{}) != nil }

// A NotAskedError is the error of an Obtain that has not asked any server and was not about to, for example because of
// its arguments.
type NotAskedError struct{ Err error }

func (e *NotAskedError) Error() string { return e.Err.Error() }

func (e *NotAskedError) Unwrap() error { return e.Err }
