package local_test

import (
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/local"
)

// carried has a lock hold the set, and its Release carry a waiter.
func (s *stage) carried(polls bool) (l *lock, line *local.Line, w *local.Waiter) {
	s.t.Helper()
	l, come := &lock{}, s.join
	if polls {
		come = s.poll
	}
	line = s.held(l)
	if w = come(true); line.Choose(l, nil) != w {
		s.t.Fatal("it is not carried")
	}
	return l, line, w
}

// What is said of a waiter too late changes neither what it has to do, nor who comes next.
func TestSaidTooLate(t *testing.T) {
	given := func(w *local.Waiter) { w.Give(local.Grant{}) }
	for name, c := range map[string]struct {
		polls bool
		ends  func(s *stage, w *local.Waiter) // what becomes of one that is carried
		late  func(s *stage, w *local.Waiter)
		want  local.State
	}{
		"it is to ask, and was given the keys": {true, func(_ *stage, w *local.Waiter) { given(w) }, func(s *stage, w *local.Waiter) {
			if !s.Due(w, clock.Now()) {
				s.t.Error("it is not to look what it has to do")
			}
		}, local.Given},
		"it is refused, and was given the keys": {false, func(_ *stage, w *local.Waiter) { given(w) }, func(_ *stage, w *local.Waiter) { w.Refuse(true) }, local.Given},
		"it is refused, and has left":           {false, func(s *stage, w *local.Waiter) { s.Quit(w) }, func(_ *stage, w *local.Waiter) { w.Refuse(true) }, local.Away},
		"it stands in Redis, and has left":      {false, func(s *stage, w *local.Waiter) { s.Quit(w) }, func(s *stage, w *local.Waiter) { s.Stands(w, nil, clock.Now()) }, local.Away},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				l, line, w := s.carried(c.polls)
				c.ends(s, w)
				c.late(s, w)
				s.want(c.want, w)
				if c.want != local.Away {
					s.Quit(w)
				}
				line.Ends(l)
				s.Quit(s.join(false))
			})
		})
	}
}

// Whoever waits behind others comes next, whatever becomes of these.
func TestSomebodyComesNext(t *testing.T) {
	for name, c := range map[string]struct {
		polls bool // the one before it
		does  func(s *stage, line *local.Line, l *lock, before *local.Waiter)
	}{
		"one that polls leaves": {true, func(s *stage, line *local.Line, l *lock, before *local.Waiter) {
			s.Quit(before)
			line.Ends(l)
		}},
		"one that polls is not given the keys": {true, func(_ *stage, _ *local.Line, _ *lock, before *local.Waiter) { before.Refuse(false) }},
		"one is given the keys":                {false, func(_ *stage, _ *local.Line, _ *lock, before *local.Waiter) { before.Give(local.Grant{}) }},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				l, line, before := s.carried(c.polls)
				behind := s.join(true)
				c.does(s, line, l, before)
				time.Sleep(headStart)
				s.want(local.Asks, behind)
				s.Quit(before)
				s.Quit(behind)
				line.Ends(l)
			})
		})
	}
}

// One that polls leaves those in their places who stand in line.
func TestPollsBesideTheLine(t *testing.T) {
	onStage(t, func(s *stage) {
		l := &lock{}
		line := s.held(l)
		behind, polls := s.join(true), s.poll(true)
		s.Quit(polls)
		line.Ends(l)
		s.want(local.Asks, behind)
		s.Quit(behind)
	})
}

// One that polls, was carried and was not given the keys has the place that it had before.
func TestPollsFromItsPlace(t *testing.T) {
	onStage(t, func(s *stage) {
		l := &lock{}
		line := s.held(l)
		first, second := s.poll(true), s.poll(true)
		for range 2 {
			if line.Choose(l, nil) != first {
				t.Fatal("the first is not carried")
			}
			first.Refuse(false)
			s.Rests(first, nil, clock.Now())
		}
		s.Quit(first)
		s.Quit(second)
		line.Ends(l)
	})
}

// Whoever comes after the first has let the others go asks by itself.
func TestComesAfterThoseWhoWereLetGo(t *testing.T) {
	onStage(t, func(s *stage) {
		first := s.join(false)
		s.LetGo(first)
		s.Quit(s.join(false))
		s.Quit(first)
	})
}

// The last one that leaves takes the goroutine along that would look after the line.
func TestNoGoroutineBehindTheLast(t *testing.T) {
	onStage(t, func(s *stage) {
		before := runtime.NumGoroutine()
		s.Quit(s.join(false))
		if synctest.Wait(); runtime.NumGoroutine() > before {
			t.Error("a goroutine is left")
		}
	})
}

// Lines of locks that are held are not looked at each time that another one is made.
func TestLinesAreSweptNowAndThen(t *testing.T) {
	onStage(t, func(s *stage) {
		const many = 1000
		looks := 0
		hasKeys := func(any) bool {
			looks++
			return true
		}
		for i := range many {
			s.key.First = strconv.Itoa(i)
			l := &lock{}
			line := s.Holds(s.join(false), l, hasKeys, clock.Moment{})
			defer line.Ends(l)
		}
		if looks > 10*many {
			t.Errorf("%d lines were looked at %d times", many, looks)
		}
		s.key.First = "none"
	})
}

// A lock that no line knows of is passed on to nobody.
func TestNoLineToPassOn(t *testing.T) {
	t.Parallel()
	var line *local.Line
	if line.Touch(nil); line.Pass(nil, nil, nil) {
		t.Error("it was passed on")
	}
}
