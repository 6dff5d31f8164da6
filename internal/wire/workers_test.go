package wire

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// gateSender answers commands when it is told to.
type gateSender chan struct{}

func (s gateSender) send(commands []command, _ func(command) bool) {
	<-s
	for _, p := range commands {
		p.cmd().SetVal(int64(1))
	}
}

// working counts the goroutines that send, also those that wait for something to send. Others may end meanwhile.
func working() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), ").work(")
}

// Calls that follow one another are sent by one goroutine, and calls at the same time by one each. In virtual time none
// stays.
func TestWorkersAreUsedAgain(t *testing.T) {
	for _, virtual := range []bool{false, true} {
		gate := make(gateSender)
		l := &lane{laneSetup: laneSetup{sender: gate, limit: 100, virtual: virtual}, overdue: overdue}
		conn := &Conn{main: l, single: true, tries: 1}
		w := &l.workers
		w.timer, w.runs = time.AfterFunc(time.Hour, func() {}), true // it sweeps only when told to
		defer w.timer.Stop()
		// rest waits until so many are idle, and there are no others.
		rest := func(want int) {
			t.Helper()
			for {
				w.mu.Lock()
				idle := len(w.idle)
				w.mu.Unlock()
				if idle == want && working() == want {
					return
				}
				if t.Context().Err() != nil || idle > want {
					t.Fatalf("%d are idle, want %d", idle, want)
				}
				runtime.Gosched()
			}
		}
		for _, callers := range []int{1, 1, 1, 5} {
			calls := make([]*Call, callers)
			for i := range calls {
				calls[i] = &Call{Wish: Wish{Context: t.Context(), Run: &said{key: "a"}}}
				conn.Ask(calls[i])
			}
			for range calls {
				gate <- struct{}{}
			}
			for _, c := range calls {
				<-c.done
			}
			if virtual {
				callers = 0
			}
			rest(callers)
		}
		w.sweep()
		w.sweep()
		rest(0)
	}
}

// The goroutine that came last gets the next job, and a sweep ends those that were idle since the one before.
func TestWorkersSweep(t *testing.T) {
	t.Parallel()
	w := workers{timer: time.AfterFunc(time.Hour, func() {}), runs: true}
	defer w.timer.Stop()
	first, second := &worker{jobs: make(chan job, 1)}, &worker{jobs: make(chan job, 1)}
	hasEnded := func(who *worker) bool {
		select {
		case _, more := <-who.jobs:
			return !more
		default:
			return false
		}
	}
	w.take(first)
	w.sweep()
	w.take(second)
	if w.sweep(); !hasEnded(first) || hasEnded(second) || len(w.idle) != 1 {
		t.Errorf("ended: first %t, second %t, want the first alone", hasEnded(first), hasEnded(second))
	}
	l := &lane{}
	l.workers.idle, w.idle = w.idle, nil
	l.start(job{batch: []*Call{}})
	if j := <-second.jobs; j.batch == nil {
		t.Error("the second got another job")
	}
	if w.sweep(); w.runs {
		t.Error("the timer runs although nobody is idle")
	}
}

// Goroutines that have nothing to do end after a while, also if others come and go all the time.
func TestWorkersEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var w workers
		old := &worker{jobs: make(chan job, 1)}
		w.take(old)
		began := time.Now()
		go func() {
			for time.Since(began) < 5*rest {
				time.Sleep(rest / 4)
				w.take(&worker{jobs: make(chan job, 1)})
			}
		}()
		if <-old.jobs; time.Since(began) != 2*rest {
			t.Errorf("it has ended after %s, want %s", time.Since(began), 2*rest)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(w.idle) > 0 || w.timer.Stop() {
			t.Errorf("%d are left, or the timer goes on", len(w.idle))
		}
		last := &worker{jobs: make(chan job, 1)}
		w.take(last)
		<-last.jobs
	})
}
