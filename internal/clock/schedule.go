package clock

import (
	"sync"
	"time"
)

// A Task is something to be done later. It runs on the goroutine of the schedule and must not wait for anything. It may put
// itself into the schedule again.
type Task interface {
	Run(at Moment)
}

// An Entry is the place of one task in a schedule.
type Entry struct {
	Task  Task
	early time.Duration // how much sooner it may run, to run together with others
	place int           // in the heap, from 1; 0 if it is not there
}

// A Schedule runs tasks when they are due, all on one goroutine, which is there only while the
// schedule has entries. It is safe for concurrent use.
type Schedule struct {
	mu      sync.Mutex
	entries entries // a heap by due time
	running bool
	closed  bool
	wake    chan struct{}
	ended   sync.WaitGroup
	clock   func() Moment
}

const (
	// tick is the longest sleep of a schedule: how soon it sees that the machine has slept.
	tick = time.Second
	// nap is the difference of the clocks that shows it.
	nap = 250 * time.Millisecond
)

// NewSchedule makes one that has nothing to do.
func NewSchedule() *Schedule {
	return &Schedule{wake: make(chan struct{}, 1), clock: Now}
}

// Put enters the task, or moves it if it is there. It reports false if the schedule is closed.
func (s *Schedule) Put(e *Entry, due Moment, early time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putLocked(e, due.Mono, early)
}

// PutBy has the task run by then: it enters the task, or moves it if it is there and due later. It reports false if the
// schedule is closed.
func (s *Schedule) PutBy(e *Entry, due Moment) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.place != 0 && s.entries[e.place-1].due <= due.Mono {
		return true
	}
	return s.putLocked(e, due.Mono, 0)
}

func (s *Schedule) putLocked(e *Entry, due, early time.Duration) bool {
	if s.closed {
		return false
	}
	if e.early = early; e.place == 0 {
		s.entries = append(s.entries, seat{})
		e.place = len(s.entries)
	}
	s.entries.settle(seat{due, e}, e.place-1)
	switch {
	case !s.running:
		s.running = true
		s.ended.Go(s.loop)
	case e.place == 1:
		s.wakeUp()
	}
	return true
}

// Drop takes the task out. With the last one the goroutine ends.
func (s *Schedule) Drop(e *Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.place == 0 {
		return
	}
	s.entries.remove(e.place - 1)
	if len(s.entries) == 0 {
		s.wakeUp()
	}
}

// wakeUp has the goroutine look at what is due.
func (s *Schedule) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Close ends the schedule and returns the tasks that it has not run.
func (s *Schedule) Close() []Task {
	s.mu.Lock()
	s.closed = true
	var rest []Task
	for len(s.entries) > 0 {
		rest = append(rest, s.entries.remove(0).Task)
	}
	s.mu.Unlock()
	s.wakeUp()
	s.ended.Wait()
	return rest
}

func (s *Schedule) loop() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	before := s.clock()
	for {
		at := s.clock()
		due, sleep, ok := s.take(at, at.slept(before) > nap)
		before = at
		for _, e := range due {
			e.Task.Run(at)
		}
		if !ok {
			return
		}
		if len(due) > 0 {
			continue // running them took time
		}
		timer.Reset(sleep)
		select {
		case <-timer.C:
		case <-s.wake:
		}
	}
}

// take removes the tasks that are due, or all if the machine has slept: timers stood still meanwhile. It also returns
// for how long there is nothing to do, and false if the goroutine is to end.
func (s *Schedule) take(at Moment, all bool) ([]*Entry, time.Duration, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []*Entry
	for len(s.entries) > 0 && (all || len(due) > 0 || s.entries[0].due <= at.Mono) {
		if !all && s.entries[0].due-s.entries[0].early > at.Mono {
			break
		}
		due = append(due, s.entries.remove(0))
	}
	if len(s.entries) == 0 {
		if len(due) == 0 {
			s.running = false
		}
		return due, 0, s.running
	}
	return due, min(s.entries[0].due-at.Mono, tick), true
}

// A seat has an entry in the heap, and when that is due: to look that up in the entries would be most of the cost.
type seat struct {
	due time.Duration // moment.Mono
	*Entry
}

type entries []seat

// settle puts an entry into the seat i, or into the one where it belongs when others have moved.
func (h entries) settle(its seat, i int) {
	for up := (i - 1) / 2; i > 0 && its.due < h[up].due; i, up = up, (up-1)/2 {
		h.seat(h[up], i)
	}
	for down := 2*i + 1; down < len(h); i, down = down, 2*down+1 {
		if down+1 < len(h) && h[down+1].due < h[down].due {
			down++
		}
		if its.due <= h[down].due {
			break
		}
		h.seat(h[down], i)
	}
	h.seat(its, i)
}

func (h entries) seat(its seat, i int) {
	h[i] = its
	its.place = i + 1
}

// remove takes the entry out of the seat i. The last one takes its place.
func (h *entries) remove(i int) *Entry {
	e, last := (*h)[i].Entry, len(*h)-1
	its := (*h)[last]
	(*h)[last] = seat{}
	if *h = (*h)[:last]; i < last {
		h.settle(its, i)
	}
	e.place = 0
	return e
}
