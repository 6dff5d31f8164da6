package check

import (
	"testing"
	"time"
)

// A Patience counts how long a test has waited that looks every now and then. Between two looks it counts only as much
// as lies between them on a machine that is not busy. While a machine stands still, or is busy with something else, the
// awaited event cannot happen either.
type Patience struct {
	Left time.Duration
	last time.Time // when the test last looked
	end  time.Time // whatever the machine did
}

// NewPatience begins to count.
func NewPatience(within time.Duration) *Patience {
	at := time.Now()
	return &Patience{Left: within, last: at, end: at.Add(within + 2*time.Minute)}
}

// Look is how far apart two looks are.
const Look = 2 * time.Millisecond

// isOver is called at each look.
func (p *Patience) isOver() bool {
	at := time.Now()
	p.Left -= min(at.Sub(p.last), 5*Look)
	p.last = at
	return p.Left <= 0 || at.After(p.end)
}

// Eventually waits until state returns true, and ends the test if it does not within this time.
func Eventually(t *testing.T, within time.Duration, what string, state func() bool) {
	t.Helper()
	for p := NewPatience(within); !state(); time.Sleep(Look) {
		if p.isOver() {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// Receive waits for a value, and reports false if none comes.
func Receive[T any](values <-chan T, within time.Duration) (value T, ok bool) {
	return ReceiveBefore(values, NewPatience(within))
}

// ReceiveBefore is Receive with a patience that may be shared by several waits.
func ReceiveBefore[T any](values <-chan T, p *Patience) (value T, ok bool) {
	for !p.isOver() {
		select {
		case value = <-values:
			return value, true
		case <-time.After(2 * Look):
		}
	}
	return value, false
}

// A Stopwatch shows the time since it was started, as a Patience counts it.
type Stopwatch struct {
	stop  chan struct{}
	shows chan time.Duration
}

// StartWatch starts a Stopwatch. It ends with the test at the latest.
func StartWatch(t *testing.T) *Stopwatch {
	t.Helper()
	w := &Stopwatch{make(chan struct{}), make(chan time.Duration, 1)}
	go func() {
		p := NewPatience(time.Hour)
		for t.Context().Err() == nil {
			p.isOver()
			select {
			case <-w.stop:
				w.shows <- time.Hour - p.Left
				return
			case <-time.After(Look):
			}
		}
	}()
	return w
}

// Took stops the watch, and returns what it shows.
func (w *Stopwatch) Took() time.Duration {
	close(w.stop)
	return <-w.shows
}
