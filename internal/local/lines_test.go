package local

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A lock is one that a test says to have its keys, or not.
type lock struct{ ended bool }

// A stage is the line for one set.
type stage struct {
	*Lines
	t   *testing.T
	key Key
}

// onStage runs a test in virtual time, and wants no line to be left when it has said that nobody waits or holds.
func onStage(t *testing.T, test func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{&Lines{Schedule: clock.NewSchedule(), HasKeys: func(l any) bool { return !l.(*lock).ended }}, t, Key{First: "a"}}
		test(s)
		s.mu.Lock()
		left := len(s.byKey)
		s.mu.Unlock()
		if left > 0 {
			t.Errorf("%d lines are left", left)
		}
		s.Schedule.Close()
	})
}

// join has a waiter come, and wants it to wait or to ask.
func (s *stage) join(waits bool) *Waiter {
	s.t.Helper()
	w := &Waiter{Arrived: clock.Now()}
	if got := s.Join(w, s.key); got != waits {
		s.t.Fatalf("it is to wait: %t, want %t", got, waits)
	}
	return w
}

// want checks what waiters have to do.
func (s *stage) want(state State, all ...*Waiter) {
	s.t.Helper()
	synctest.Wait()
	for i, w := range all {
		if got, _ := s.State(w); got != state {
			s.t.Errorf("waiter %d is in state %d, want %d", i, got, state)
		}
	}
}

// held has a lock hold the set, and returns its line.
func (s *stage) held(l *lock) *Line {
	s.t.Helper()
	return s.Holds(s.join(false), l)
}

func TestFirstAlone(t *testing.T) {
	onStage(t, func(s *stage) {
		first := s.join(false)
		s.Stands(first, nil, clock.Now())
		second, third, last := s.join(true), s.join(true), s.join(true)
		time.Sleep(time.Minute)
		s.want(Behind, second, third, last)
		s.Quit(third)
		s.Quit(first)
		s.want(Asks, second)
		s.want(Behind, last)
		s.Quit(last)
		s.Quit(second)
	})
}

// While a lock of the Client holds the set, the first waits a little before it asks, and not at all once the lock has ended.
func TestHeadStart(t *testing.T) {
	for name, c := range map[string]struct {
		until time.Duration // when its own time is over; 0: never
		ends  time.Duration // when the lock does; 0: not
		asks  time.Duration
	}{
		"the lock is held for longer": {0, 0, headStart},
		"its own time is short":       {10 * time.Millisecond, 0, 5 * time.Millisecond},
		"the lock ends before":        {0, 3 * time.Millisecond, 3 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				l := &lock{}
				line := s.held(l)
				w := &Waiter{Arrived: clock.Now()}
				if c.until > 0 {
					w.Until = clock.Now().Add(c.until)
				}
				if !s.Join(w, s.key) {
					t.Fatal("it is not to wait")
				}
				if c.ends > 0 {
					time.AfterFunc(c.ends, func() { line.Ends(l) })
				}
				time.Sleep(c.asks - 1)
				s.want(Behind, w)
				time.Sleep(2)
				s.want(Asks, w)
				s.Quit(w)
				line.Ends(l)
			})
		})
	}
}

// It is counted from when the lock has the set, and from when somebody is the first, not from when it came.
func TestHeadStartBeginsAnew(t *testing.T) {
	onStage(t, func(s *stage) {
		first := s.join(false)
		s.Stands(first, nil, clock.Now())
		second := s.join(true)
		time.Sleep(time.Second)
		l := &lock{}
		line := s.Holds(first, l)
		time.Sleep(headStart - 1)
		s.want(Behind, second)
		third := s.join(true)
		s.Quit(second)
		time.Sleep(headStart - 1)
		s.want(Behind, third)
		time.Sleep(2)
		s.want(Asks, third)
		s.Quit(third)
		line.Ends(l)
	})
}

// A Release carries the first, unless that asks, and only the Release of the lock that holds the set does.
func TestChoose(t *testing.T) {
	onStage(t, func(s *stage) {
		l := &lock{}
		line := s.held(l)
		if line.Choose(l, nil) != nil {
			t.Error("nobody waits, and somebody was chosen")
		}
		first, second := s.join(true), s.join(true)
		if line.Choose(&lock{}, nil) != nil {
			t.Error("a lock that does not hold the set has chosen somebody")
		}
		time.Sleep(time.Millisecond)
		if got := line.Choose(l, nil); got != first || got.Next.Age != time.Millisecond {
			t.Errorf("chosen: %p of age %s, want %p", got, got.Next.Age, first)
		}
		if line.Choose(l, nil) != nil {
			t.Error("two were chosen")
		}
		s.want(Carried, first)
		first.Give(Grant{Number: 7})
		line.Ends(l) // it has been told already
		s.want(Given, first)
		s.want(Behind, second)
		if g, _ := first.Grant(); g.Number != 7 {
			t.Errorf("got number %d, want 7", g.Number)
		}
		line = s.Holds(first, l)
		time.Sleep(headStart)
		s.want(Asks, second)
		if line.Choose(l, nil) != nil {
			t.Error("somebody was chosen who asks")
		}
		s.Quit(second)
		line.Ends(l)
	})
}

// Whoever was carried and not given the keys asks, and is the first still.
func TestRefuse(t *testing.T) {
	for _, doubtful := range []bool{false, true} {
		onStage(t, func(s *stage) {
			l := &lock{}
			line := s.held(l)
			first, second := s.join(true), s.join(true)
			line.Choose(l, nil)
			first.Refuse(doubtful)
			line.Ends(l)
			if state, got := s.State(first); state != Asks || got != doubtful {
				t.Errorf("state %d, doubtful: %t, want %t", state, got, doubtful)
			}
			s.want(Behind, second)
			s.Quit(first)
			s.Quit(second)
		})
	}
}

// Nobody waits for long for a Release that is not answered. What comes of it later counts for nothing.
func TestCarriedForTooLong(t *testing.T) {
	onStage(t, func(s *stage) {
		l := &lock{}
		line := s.held(l)
		first, second := s.join(true), s.join(true)
		line.Choose(l, nil)
		time.Sleep(longestAsk - 1)
		s.want(Carried, first)
		time.Sleep(2)
		if state, doubtful := s.State(first); state != Asks || !doubtful {
			t.Errorf("state %d, doubtful: %t", state, doubtful)
		}
		s.want(Asks, second)
		first.Give(Grant{})
		s.want(Asks, first)
		s.Quit(first)
		s.Quit(second)
		line.Ends(l)
	})
}

// The first keeps others back for as long as it stands in Redis, and for a moment while it asks.
func TestKeepsBack(t *testing.T) {
	for name, c := range map[string]struct {
		does func(s *stage, first *Waiter)
		for_ time.Duration // it keeps the others back; 0: not at all
	}{
		"it asks":                 {func(*stage, *Waiter) {}, longestAsk},
		"it asks again":           {func(s *stage, w *Waiter) { s.Stands(w, nil, clock.Now()); time.Sleep(time.Hour); s.Asking(w) }, longestAsk},
		"it pauses":               {func(s *stage, w *Waiter) { s.LetGo(w) }, 0},
		"it stands, and hears it": {func(s *stage, w *Waiter) { s.Stands(w, nil, clock.Now()) }, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				first := s.join(false)
				others := []*Waiter{s.join(true), s.join(true)}
				c.does(s, first)
				if c.for_ > 0 {
					time.Sleep(c.for_ - 1)
					s.want(Behind, others...)
				}
				if time.Sleep(2); c.for_ < time.Hour {
					s.want(Asks, others...)
				}
				for _, w := range slices.Backward(append(others, first)) {
					s.Quit(w)
				}
			})
		})
	}
}

// Whoever has let others go keeps those back who come once it stands in Redis.
func TestKeepsBackAgain(t *testing.T) {
	onStage(t, func(s *stage) {
		first := s.join(false)
		s.LetGo(first)
		s.Stands(first, nil, clock.Now())
		second := s.join(true)
		s.Quit(first)
		s.want(Asks, second)
		s.Quit(second)
	})
}

// A hold is passed on to the first that wants the same, or to nobody.
func TestPass(t *testing.T) {
	onStage(t, func(s *stage) {
		l := &lock{}
		line := s.held(l)
		if line.Pass(l, "x", nil, nil) {
			t.Error("passed on to nobody")
		}
		other, same := &Waiter{Alike: "y"}, &Waiter{Alike: "x"}
		s.Join(other, s.key)
		s.Join(same, s.key)
		if line.Pass(l, "x", nil, nil) {
			t.Error("passed on to somebody who wants something else, or behind whom somebody waits")
		}
		s.Quit(other)
		if !line.Pass(l, "x", "hold", nil) {
			t.Error("not passed on")
		}
		s.want(Given, same)
		if g, _ := same.Grant(); g.Hold != "hold" {
			t.Errorf("passed on: %v", g.Hold)
		}
		s.Quit(same)
	})
}

// A waiter that was given the keys and quits lets the next one ask.
func TestGivenQuits(t *testing.T) {
	onStage(t, func(s *stage) {
		l := &lock{}
		line := s.held(l)
		first, second := s.join(true), s.join(true)
		line.Choose(l, nil).Give(Grant{})
		line.Ends(l)
		if was := s.Quit(first); was != Given {
			t.Errorf("it was in state %d", was)
		}
		s.want(Asks, second)
		s.Quit(second)
	})
}

// What is in the way of a waiter is a lock of the Client, or what the first has heard since it came.
func TestBlocker(t *testing.T) {
	onStage(t, func(s *stage) {
		first := s.join(false)
		asked := clock.Now()
		s.Stands(first, "conflict", asked)
		time.Sleep(time.Second)
		late := s.join(true)
		if holder, seen := late.Blocker(late.Arrived); holder != nil || seen != nil {
			t.Errorf("got %v and %v, which is older than the waiter", holder, seen)
		}
		s.Stands(first, "conflict", clock.Now())
		if _, seen := late.Blocker(late.Arrived); seen != "conflict" {
			t.Errorf("got %v", seen)
		}
		l := &lock{}
		line := s.Holds(first, l)
		if holder, _ := late.Blocker(late.Arrived); holder != l {
			t.Errorf("got %v, want the lock", holder)
		}
		l.ended = true
		if holder, _ := late.Blocker(late.Arrived); holder != nil {
			t.Errorf("got %v, which has ended", holder)
		}
		line.Ends(l)
		s.Quit(late)
	})
}

// Locks that end by themselves are forgotten.
func TestLinesAreForgotten(t *testing.T) {
	onStage(t, func(s *stage) {
		for i := range 1000 {
			s.key = Key{First: string(rune('a' + i))}
			l := &lock{}
			s.held(l)
			l.ended = true
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.byKey) > 200 {
			t.Errorf("%d lines are kept", len(s.byKey))
		}
		clear(s.byKey)
	})
}
