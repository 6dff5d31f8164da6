package redislock_test

import (
	"testing"
	"time"
)

// soon is long enough for everything that goes by messages, and too short for what has to wait until
// somebody asks again by himself.
const soon = 4 * time.Second

// polled is long enough for whoever has missed a message to have asked again.
const polled = 8 * time.Second

// A patience counts how long somebody has waited who looks every now and then. Of the time between two
// looks it counts no more than they are apart on a machine that has time: one that stands still, or has
// no processor to spare, has kept what is waited for from coming as well.
type patience struct {
	left time.Duration
	last time.Time
	end  time.Time // whatever the machine did
}

func newPatience(within time.Duration) *patience {
	at := time.Now()
	return &patience{left: within, last: at, end: at.Add(within + 2*time.Minute)}
}

// look is how far apart two looks are.
const look = 2 * time.Millisecond

// isOver is to be asked at each look.
func (p *patience) isOver() bool {
	at := time.Now()
	p.left -= min(at.Sub(p.last), 5*look)
	p.last = at
	return p.left <= 0 || at.After(p.end)
}

// eventually waits until a state that comes by itself is there, and ends the test if it does not come.
func eventually(t *testing.T, within time.Duration, what string, state func() bool) {
	t.Helper()
	for p := newPatience(within); !state(); time.Sleep(look) {
		if p.isOver() {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// receive waits for a value, and reports false if none comes.
func receive[T any](values <-chan T, within time.Duration) (value T, ok bool) {
	return receiveBefore(values, newPatience(within))
}

// receiveBefore does it until a patience is over that others have used too.
func receiveBefore[T any](values <-chan T, p *patience) (value T, ok bool) {
	for !p.isOver() {
		select {
		case value = <-values:
			return value, true
		case <-time.After(2 * look):
		}
	}
	return value, false
}

// A stopwatch shows the time since it was started, as a patience counts it.
type stopwatch struct {
	stop  chan struct{}
	shows chan time.Duration
}

func startWatch(t *testing.T) *stopwatch {
	t.Helper()
	w := &stopwatch{make(chan struct{}), make(chan time.Duration, 1)}
	go func() {
		p := newPatience(time.Hour)
		for t.Context().Err() == nil {
			p.isOver()
			select {
			case <-w.stop:
				w.shows <- time.Hour - p.left
				return
			case <-time.After(look):
			}
		}
	}()
	return w
}

// took stops the watch.
func (w *stopwatch) took() time.Duration {
	close(w.stop)
	return <-w.shows
}
