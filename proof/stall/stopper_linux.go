package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A stopper stops processes that descend from another, and lets them go on. It is for one goroutine.
type stopper struct {
	root    int // the process, which may be stopped as well
	longest time.Duration
	every   time.Duration
	random  *rand.Rand

	standing map[int]stop // by process: those that are stopped now
	left     []stop       // those that a test has stopped as well, which lets them go on by itself
	made     []stop       // all that are over
}

// A stop is one of a process.
type stop struct {
	process  *os.Process // by a handle: another process that gets its number is never meant
	program  string
	from, to time.Time // at first, to is when it shall end
}

func newStopper(root int, longest, every time.Duration, random *rand.Rand) *stopper {
	return &stopper{root: root, longest: longest, every: every, random: random, standing: map[int]stop{}}
}

// run stops processes until enough is closed. Then all of them go on, also if it panics.
func (s *stopper) run(enough <-chan struct{}) {
	defer s.end()
	next := time.Now().Add(s.upTo(2 * s.every))
	for {
		select {
		case <-enough:
			return
		case <-time.After(time.Until(s.due(next))):
		}
		for pid, one := range s.standing {
			if !time.Now().Before(one.to) {
				s.goOn(pid, one)
			}
		}
		if !time.Now().Before(next) {
			s.stopOne()
			next = time.Now().Add(s.upTo(2 * s.every))
		}
	}
}

// due returns when there is something to do: what stands still shall go on, or the next stop begins.
func (s *stopper) due(next time.Time) time.Time {
	for _, one := range s.standing {
		if one.to.Before(next) {
			next = one.to
		}
	}
	return next
}

// upTo returns a random time.
func (s *stopper) upTo(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(d))) + 1
}

// stopOne stops one of the processes that may be stopped and run, if there is one.
func (s *stopper) stopOne() {
	pause, choice := s.upTo(s.longest), s.random.Float64()
	var may []process
	for _, p := range below(s.root) {
		if p.program != "" && !p.stopped {
			may = append(may, p)
		}
	}
	if len(may) == 0 {
		return
	}
	p := may[int(choice*float64(len(may)))]
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	// The number may have become another process's before there was a handle.
	if again, ok := look(p.pid); !ok || again.program != p.program || handle.Signal(unix.SIGSTOP) != nil {
		_ = handle.Release()
		return
	}
	awaitStop(p.pid)
	s.standing[p.pid] = stop{process: handle, program: p.program, from: time.Now(), to: time.Now().Add(pause)}
}

// awaitStop returns when a process that was told to stop has stopped. On a busy machine that takes a while, in which the signal
// waits, as it does if a test has stopped the process as well: goOn could not tell the two apart. The time is bounded, because
// whoever has stopped the process before may have let it go on.
func awaitStop(pid int) {
	for began := time.Now(); time.Since(began) < 5*time.Second; time.Sleep(100 * time.Microsecond) {
		if p, ok := look(pid); !ok || p.stopped && !p.again {
			return
		}
	}
}

// goOn ends a stop. Whoever else has stopped the process meanwhile wants it to stand still for longer: that signal waits until
// the process runs, and the one to go on would remove it. Only in the instant in which its threads stop is it not seen.
func (s *stopper) goOn(pid int, one stop) {
	delete(s.standing, pid)
	one.to = time.Now()
	s.made = append(s.made, one)
	if p, ok := look(pid); ok && p.again {
		s.left = append(s.left, one)
		return
	}
	_ = one.process.Signal(unix.SIGCONT) // it may have ended
	_ = one.process.Release()
}

// end lets everything go on. What was left to a test has nobody else any more.
func (s *stopper) end() {
	for pid, one := range s.standing {
		s.goOn(pid, one)
	}
	for _, one := range s.left {
		_ = one.process.Signal(unix.SIGCONT)
		_ = one.process.Release()
	}
	s.left = nil
}

// text says what was stopped how often, and for how long.
func (s *stopper) text() string {
	var sum, longest time.Duration
	count := map[string]int{}
	for _, one := range s.made {
		took := one.to.Sub(one.from)
		sum, longest = sum+took, max(longest, took)
		count[one.program]++
	}
	var programs []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		programs = append(programs, fmt.Sprintf("%d of %s", count[name], name))
	}
	of := ""
	if programs != nil {
		of = ": " + strings.Join(programs, ", ")
	}
	const unit = time.Millisecond
	return fmt.Sprintf("%d stops%s; %v in all, the longest %v", len(s.made), of, sum.Round(unit), longest.Round(unit))
}
