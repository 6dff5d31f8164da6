package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-14de3678/redislock/internal/check"
)

// draws are random numbers, with something that happens at each.
type draws struct {
	rand.Source
	each func()
}

func (d draws) Uint64() uint64 {
	d.each()
	return d.Source.Uint64()
}

func random(each func()) *rand.Rand { return rand.New(draws{rand.NewPCG(1, 0), each}) }

// A process that is stopped does nothing, and something between two stops.
func TestProcessesAreStopped(t *testing.T) {
	t.Parallel()
	c := startClock(t)
	enough, drawn := make(chan struct{}), 0
	s := newStopper(c.pid, 100*time.Millisecond, 30*time.Millisecond, random(func() {
		if drawn++; drawn == 60 {
			close(enough)
		}
	}))
	began, at := time.Now(), now()
	s.run(enough)
	c.goesOn(t)
	const soon = 10 * time.Millisecond // for the signal to reach another processor
	tried := 0
	for _, one := range s.made {
		from, to := at+int64(one.from.Sub(began)+soon), at+int64(one.to.Sub(began))
		if from < to {
			tried++
		}
		for _, tick := range c.times(t) {
			if from < tick && tick < to {
				t.Errorf("the clock went on %v after it was stopped for %v", time.Duration(tick-from)+soon, one.to.Sub(one.from))
			}
		}
	}
	if tried < 3 {
		t.Errorf("%d stops of more than %v: %s", tried, soon, s.text())
	}
}

// A defect of the tool leaves nothing behind that stands still.
func TestPanic(t *testing.T) {
	t.Parallel()
	c := startClock(t)
	s := newStopper(c.pid, time.Hour, time.Millisecond, random(func() {
		if c.stands() {
			panic("planted")
		}
	}))
	func() {
		defer func() { _ = recover() }()
		s.run(nil)
	}()
	c.goesOn(t)
}

// A process that is told to stop does so later if the machine is busy. It goes on all the same when its time is over.
func TestStopIsAwaited(t *testing.T) {
	t.Parallel()
	c := startClock(t)
	s := newStopper(c.pid, time.Hour, time.Millisecond, random(func() {}))
	for range 50 {
		check.Eventually(t, 30*time.Second, "the clock is stopped", func() bool { s.stopOne(); return len(s.standing) == 1 })
		if !c.stands() {
			t.Fatal("the clock goes on behind a stop")
		}
		s.end()
		c.goesOn(t)
	}
}

// A process that somebody else has stopped is left alone, whether it stood still before or does so by a stop of the tool.
func TestOthersStopAsWell(t *testing.T) {
	t.Parallel()
	c := startClock(t)
	s := newStopper(c.pid, time.Hour, time.Millisecond, random(func() {}))
	check.Eventually(t, 30*time.Second, "the clock is stopped", func() bool { s.stopOne(); return len(s.standing) == 1 })
	stop := func() {
		t.Helper()
		if err := unix.Kill(c.pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	check.Eventually(t, 30*time.Second, "all threads stand", func() bool { return c.threads(t, "T") })
	stop()
	s.goOn(c.pid, s.standing[c.pid])
	if !c.stands() {
		t.Error("the clock goes on although somebody else has stopped it")
	}
	s.end()
	c.goesOn(t)
	stop()
	check.Eventually(t, 30*time.Second, "the clock stands", c.stands)
	if s.stopOne(); len(s.standing) != 0 {
		t.Error("a process is stopped that stood still before")
	}
}

// A stop ends when it shall, whenever the next one begins.
func TestDue(t *testing.T) {
	t.Parallel()
	s := newStopper(0, time.Second, time.Second, nil)
	now := time.Now()
	next := now.Add(time.Second)
	if got := s.due(next); got != next {
		t.Errorf("nothing stands still: due %v before the next stop", next.Sub(got))
	}
	for pid, in := range []time.Duration{2 * time.Second, 3 * time.Second} {
		s.standing[pid] = stop{to: now.Add(in)}
	}
	if got := s.due(next); got != next {
		t.Errorf("all stand for longer: due %v before the next stop", next.Sub(got))
	}
	s.standing[2] = stop{to: now}
	if got := s.due(next); got != now {
		t.Errorf("due %v after the end of a stop", got.Sub(now))
	}
}
