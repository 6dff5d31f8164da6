package wire

import (
	"slices"
	"sync"
	"time"
)

// rest is for how long a goroutine that has nothing to send waits at least for something to send before it ends.
const rest = 100 * time.Millisecond

// A job is one call that a goroutine has to send, or a batch.
type job struct {
	one   *Call
	batch []*Call
}

// Workers are the goroutines of a lane that have nothing to send. The next job goes to the one that came last: its stack
// is as large as sending needs it. A new goroutine begins with a small stack, which grows to twice its size again and
// again while go-redis is called, and with each step all frames on it are moved. That takes longer than all else that
// this package does for a call.
//
// In the virtual time of a test nobody waits here: a test must not end before its goroutines do, and time stands still
// at its end.
type workers struct {
	mu    sync.Mutex
	idle  []*worker
	round int // counts the rounds of sweep
	timer *time.Timer
	runs  bool // the timer does
}

// A worker is one of them.
type worker struct {
	jobs  chan job // closed to end it
	round int      // when it came
}

// start has a goroutine of the lane do a job.
func (l *lane) start(j job) {
	w := &l.workers
	w.mu.Lock()
	n := len(w.idle)
	if n == 0 {
		w.mu.Unlock()
		go l.work(j)
		return
	}
	who := w.idle[n-1]
	w.idle = w.idle[:n-1]
	w.mu.Unlock()
	who.jobs <- j
}

// work does a job, and those that follow soon.
func (l *lane) work(j job) {
	grow(1)
	who := worker{jobs: make(chan job, 1)}
	for more := true; more; j, more = <-who.jobs {
		l.do(j)
		if l.virtual {
			return
		}
		l.workers.take(&who)
	}
}

// take notes that a worker has nothing to do.
func (w *workers) take(who *worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	who.round = w.round
	w.idle = append(w.idle, who)
	switch {
	case w.runs:
	case w.timer == nil:
		w.timer = time.AfterFunc(rest, w.sweep)
	default:
		w.timer.Reset(rest)
	}
	w.runs = true
}

// sweep ends the workers that have had nothing to do since the round before.
func (w *workers) sweep() {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for n < len(w.idle) && w.idle[n].round < w.round {
		close(w.idle[n].jobs)
		n++
	}
	w.idle = slices.Delete(w.idle, 0, n)
	w.round++
	if w.runs = len(w.idle) > 0; w.runs {
		w.timer.Reset(rest)
	}
}

// room is how large the stack of a goroutine has to be for go-redis to send a command and read the answer.
const room = 6 << 10

// grow makes the stack as large as room: its frame is. To grow once, while there is nothing to move, takes little. The
// compiler would leave out a frame if it knew its content.
//
//go:noinline
func grow(at int) byte {
	var frame [room]byte
	frame[at%room] = 1
	return frame[2*at%room]
}
