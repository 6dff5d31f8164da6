package clock

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// An alarm is a task that notes when it ran.
type alarm struct {
	entry Entry
	ran   chan time.Time
}

func newAlarm() *alarm {
	a := &alarm{ran: make(chan time.Time, 16)}
	a.entry.Task = a
	return a
}

func (a *alarm) Run(Moment) { a.ran <- time.Now() }

func TestScheduleOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSchedule()
		began := time.Now()
		at := func(a *alarm, after, early time.Duration) { s.Put(&a.entry, Now().Add(after), early) }
		late, soon, moved, dropped, along := newAlarm(), newAlarm(), newAlarm(), newAlarm(), newAlarm()
		at(late, time.Hour, 0)
		at(moved, 2*time.Hour, 0)
		at(dropped, time.Minute, 0)
		at(soon, 2*time.Second, 0)
		at(along, 3*time.Second, time.Second) // may run early, together with soon
		at(moved, time.Second, 0)
		s.Drop(&dropped.entry)
		for name, want := range map[*alarm]time.Duration{
			moved: time.Second, soon: 2 * time.Second, along: 2 * time.Second, late: time.Hour,
		} {
			if got := (<-name.ran).Sub(began); got != want {
				t.Errorf("ran after %v, want %v", got, want)
			}
		}
		synctest.Wait()
		select {
		case <-dropped.ran:
			t.Error("a dropped task ran")
		default:
		}
		if s.running {
			t.Error("the goroutine outlives the last task")
		}
	})
}

// A task that is to run by some time is moved sooner, and never later.
func TestScheduleBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSchedule()
		began := time.Now()
		by := func(a *alarm, after time.Duration) {
			if !s.PutBy(&a.entry, Now().Add(after)) {
				t.Error("the schedule is not closed")
			}
		}
		sooner, stays := newAlarm(), newAlarm()
		by(sooner, time.Hour)
		by(sooner, time.Minute)
		by(stays, time.Second)
		by(stays, time.Hour)
		for a, want := range map[*alarm]time.Duration{sooner: time.Minute, stays: time.Second} {
			if got := (<-a.ran).Sub(began); got != want {
				t.Errorf("ran after %v, want %v", got, want)
			}
		}
		by(stays, time.Second) // it has run, and is not there
		<-stays.ran
		s.Close()
		if s.PutBy(&stays.entry, Now()) {
			t.Error("a closed schedule takes a task")
		}
	})
}

// A machine that sleeps stops Go's monotonic clock and its timers: what is due by the wall clock
// has to be seen when it wakes.
func TestMachineThatSlept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		s := NewSchedule()
		s.clock = func() Moment {
			m := Now()
			m.Wall += time.Duration(slept.Load())
			return m
		}
		a := newAlarm()
		s.Put(&a.entry, Now().Add(time.Hour), 0)
		time.Sleep(10 * time.Second)
		slept.Store(int64(2 * time.Hour))
		woke := time.Now()
		if late := (<-a.ran).Sub(woke); late > tick {
			t.Errorf("asked %v after waking, want within %v", late, tick)
		}
		s.Close()
	})
}

func TestMoment(t *testing.T) {
	began := Moment{Mono: time.Hour, Wall: 1000 * time.Hour}
	deadline := began.Add(10 * time.Second)
	for name, test := range map[string]struct {
		at   Moment
		want bool
	}{
		"before":                      {Moment{began.Mono + 9*time.Second, began.Wall + 9*time.Second}, false},
		"at it":                       {deadline, true},
		"the machine slept":           {Moment{began.Mono + time.Second, began.Wall + 11*time.Second}, true},
		"the wall clock was set back": {Moment{began.Mono + 10*time.Second, began.Wall - time.Hour}, true},
	} {
		if got := test.at.Reached(deadline); got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestWindow(t *testing.T) {
	for ttl, want := range map[time.Duration]time.Duration{
		time.Minute:           time.Minute - 602*time.Millisecond,
		100 * time.Second:     99*time.Second - 2*time.Millisecond,
		time.Millisecond:      time.Millisecond / 2,
		4 * time.Millisecond:  2 * time.Millisecond,
		10 * time.Millisecond: 7900 * time.Microsecond,
	} {
		if got := Window(ttl); got != want {
			t.Errorf("got window %v of %v, want %v", got, ttl, want)
		}
	}
}

func TestCloseOfSchedule(t *testing.T) {
	s := NewSchedule()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			a := newAlarm()
			for range 20 {
				if !s.Put(&a.entry, Now().Add(time.Hour), 0) {
					return
				}
				s.Drop(&a.entry)
			}
		})
	}
	s.Close()
	wg.Wait()
	if s.Put(&newAlarm().entry, Now(), 0) {
		t.Error("a closed schedule takes tasks")
	}
}

// A schedule looks every second whether the machine has slept, and takes it for that if its clocks disagree by 250 ms.
func TestScheduleLooksEverySecond(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for slept, want := range map[time.Duration]time.Duration{
		251 * time.Millisecond: 11 * time.Second, 250 * time.Millisecond: hour, // by the monotonic clock
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var ahead atomic.Int64
			s := NewSchedule()
			s.clock = func() Moment {
				m := Now()
				m.Wall += time.Duration(ahead.Load())
				return m
			}
			a := newAlarm()
			s.Put(&a.entry, Now().Add(hour), 0)
			time.Sleep(10300 * time.Millisecond)
			ahead.Store(int64(slept))
			if got := (<-a.ran).Sub(began); got != want {
				t.Errorf("a machine that has slept for %v: ran after %v, want %v", slept, got, want)
			}
			s.Close()
		})
	}
}
