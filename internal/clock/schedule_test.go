package clock

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// An alarm is a task that notes when it ran, as it was told.
type alarm struct {
	entry Entry
	ran   chan time.Time
}

func newAlarm() *alarm {
	a := &alarm{ran: make(chan time.Time, 16)}
	a.entry.Task = a
	return a
}

func (a *alarm) Run(at Moment) { a.ran <- at.Time() }

func TestScheduleOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSchedule()
		began := time.Now()
		at := func(a *alarm, after, early time.Duration) { s.Put(&a.entry, Now().Add(after), early) }
		late, soon, moved, dropped, along, alone := newAlarm(), newAlarm(), newAlarm(), newAlarm(), newAlarm(), newAlarm()
		at(late, time.Hour, 0)
		at(moved, 2*time.Hour, 0)
		at(dropped, time.Minute, 0)
		at(soon, 2*time.Second, 0)
		at(along, 3*time.Second, time.Second)    // may run early, together with soon
		at(alone, 10*time.Second, 5*time.Second) // there is none to run with
		at(moved, time.Second, 0)
		s.Drop(&dropped.entry)
		for name, want := range map[*alarm]time.Duration{
			moved: time.Second, soon: 2 * time.Second, along: 2 * time.Second, alone: 10 * time.Second, late: time.Hour,
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

// However tasks are entered, moved and dropped, they are taken in the order in which they are due, each once.
func TestScheduleTakesInOrder(t *testing.T) {
	t.Parallel()
	const end = 60
	for seed := range uint64(50) {
		dice, s := rand.New(rand.NewPCG(seed, 0)), NewSchedule()
		s.running = true // by the test
		all, want := make([]Entry, 40), map[*Entry]time.Duration{}
		for range 200 {
			e, due := &all[dice.IntN(len(all))], Moment{Mono: time.Duration(1 + dice.IntN(end))}
			switch dice.IntN(4) {
			case 0:
				s.Drop(e)
				delete(want, e)
			default:
				s.Put(e, due, 0)
				want[e] = due.Mono
			}
		}
		var last time.Duration
		for at := time.Duration(0); at < end; {
			at = min(at+time.Duration(dice.IntN(4)), end)
			due, _, _ := s.take(Moment{Mono: at}, false)
			for _, e := range due {
				if want[e] < last || want[e] > at || e.place != 0 {
					t.Fatalf("seed %d: at %d got one that is due at %d, in seat %d, after one due at %d", seed, at, want[e], e.place, last)
				}
				last = want[e]
				delete(want, e)
			}
		}
		if len(want) > 0 {
			t.Fatalf("seed %d: %d were not taken", seed, len(want))
		}
	}
}

// A schedule that sleeps for long is woken by a task that is due before, and by the end: neither waits for the next look.
func TestScheduleIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goroutines := runtime.NumGoroutine()
		s := NewSchedule()
		late, soon := newAlarm(), newAlarm()
		s.Put(&late.entry, Now().Add(time.Hour), 0)
		synctest.Wait() // it sleeps
		began := time.Now()
		s.Put(&soon.entry, Now().Add(10*time.Millisecond), 0)
		if n := runtime.NumGoroutine() - goroutines; n != 1 {
			t.Errorf("it has %d goroutines, want one for all tasks", n)
		}
		if got := (<-soon.ran).Sub(began); got != 10*time.Millisecond {
			t.Errorf("a task that is due in 10ms ran after %v", got)
		}
		synctest.Wait() // it sleeps again
		s.Drop(&late.entry)
		if synctest.Wait(); s.running {
			t.Error("the goroutine outlives the last task")
		}
		s.Put(&late.entry, Now().Add(time.Hour), 0)
		synctest.Wait()
		s.Drop(&late.entry) // it is the only one
		s.Drop(&late.entry) // it is there no more
		if synctest.Wait(); s.running || len(s.entries) > 0 {
			t.Error("the goroutine outlives the only task")
		}
		s.Put(&late.entry, Now().Add(time.Hour), 0)
		synctest.Wait()
		began = time.Now()
		s.Close()
		if took := time.Since(began); took > 0 {
			t.Errorf("Close took %v", took)
		}
	})
}

// A busy task is one that takes a while, and says when it has ended.
type busy struct {
	entry Entry
	takes time.Duration
	ended bool
}

func (b *busy) Run(Moment) {
	time.Sleep(b.takes)
	b.ended = true
}

// What comes due while another task runs is run right after it. Close waits for a task that runs.
func TestScheduleBehindABusyTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSchedule()
		began := time.Now()
		long, behind := &busy{takes: 500 * time.Millisecond}, newAlarm()
		long.entry.Task = long
		s.Put(&long.entry, Now(), 0)
		s.Put(&behind.entry, Now().Add(100*time.Millisecond), 0)
		if got := (<-behind.ran).Sub(began); got != long.takes {
			t.Errorf("ran after %v, want %v", got, long.takes)
		}
		long.ended = false
		s.Put(&long.entry, Now(), 0)
		synctest.Wait() // it runs
		if s.Close(); !long.ended {
			t.Error("Close did not wait for a task that runs")
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

// An again is an alarm that is to run a minute later once more.
type again struct {
	*alarm
	in *Schedule
}

func (a *again) Run(at Moment) {
	a.in.Put(&a.entry, at.Add(time.Minute), 0)
	a.alarm.Run(at)
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
		other := &again{newAlarm(), s}
		other.entry.Task = other
		s.Put(&a.entry, Now().Add(time.Hour), 0)
		s.Put(&other.entry, Now().Add(time.Hour), 0)
		time.Sleep(10 * time.Second)
		slept.Store(int64(2 * time.Hour))
		woke := time.Now()
		if late := (<-a.ran).Sub(woke); late > tick {
			t.Errorf("asked %v after waking, want within %v", late, tick)
		}
		if got := (<-other.ran).Sub(woke); got > tick {
			t.Errorf("asked another one %v after waking, want within %v", got, tick)
		}
		if got := (<-other.ran).Sub(woke); got < time.Minute {
			t.Errorf("ran again %v after waking, want a minute: the machine has slept only once", got)
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

// Only a ttl that is most likely a number without a unit is said to be one.
func TestCheckTTL(t *testing.T) {
	for ttl, asks := range map[time.Duration]bool{30: true, time.Millisecond - 1: true, 0: false, -time.Second: false, Longest + 1: false} {
		if err := CheckTTL(ttl); err == nil || strings.Contains(err.Error(), "without a unit") != asks {
			t.Errorf("%v: got error %v, want it to ask for a unit: %t", ttl, err, asks)
		}
	}
	for _, ttl := range []time.Duration{time.Millisecond, Longest} {
		if err := CheckTTL(ttl); err != nil {
			t.Errorf("unexpected error: %v", err)
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
