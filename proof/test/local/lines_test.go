package local_test

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/local"
	"github.com/seed-14de3678/redislock/internal/proto"
)

// A lock is one that a test says to have its keys, or not.
type lock struct{ ended bool }

// hasKeys is what a line asks of a lock.
func hasKeys(l any) bool { return !l.(*lock).ended }

// headStart and longestAsk are what package local has under these names.
const (
	headStart  = 25 * time.Millisecond
	longestAsk = 100 * time.Millisecond
)

// A stage is the line for one set.
type stage struct {
	*local.Lines
	t   *testing.T
	key local.Key
}

// onStage runs a test in virtual time.
func onStage(t *testing.T, test func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{&local.Lines{Schedule: clock.NewSchedule()}, t, local.Key{First: "a"}}
		defer s.Schedule.Close()
		test(s)
		if s.Find(s.key) != nil {
			t.Error("a line is left")
		}
	})
}

// join has a waiter come, and wants it to wait or to ask.
func (s *stage) join(waits bool) *local.Waiter {
	s.t.Helper()
	w := &local.Waiter{Arrived: clock.Now()}
	if got := s.Join(w, s.key); got != waits {
		s.t.Fatalf("it is to wait: %t, want %t", got, waits)
	}
	return w
}

// want checks what waiters have to do.
func (s *stage) want(state local.State, all ...*local.Waiter) {
	s.t.Helper()
	synctest.Wait()
	for i, w := range all {
		if got, _ := s.State(w); got != state {
			s.t.Errorf("waiter %d is in state %d, want %d", i, got, state)
		}
	}
}

// held has a lock hold the set, and returns its line.
func (s *stage) held(l *lock) *local.Line {
	s.t.Helper()
	return s.Holds(s.join(false), l, hasKeys, clock.Moment{})
}

func TestFirstAlone(t *testing.T) {
	onStage(t, func(s *stage) {
		first := s.join(false)
		s.Stands(first, nil, clock.Now())
		second, third, last := s.join(true), s.join(true), s.join(true)
		time.Sleep(time.Minute)
		s.want(local.Behind, second, third, last)
		s.Quit(third)
		s.Quit(first)
		s.want(local.Asks, second)
		s.want(local.Behind, last)
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
				w := &local.Waiter{Arrived: clock.Now()}
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
				s.want(local.Behind, w)
				time.Sleep(2 * time.Nanosecond)
				s.want(local.Asks, w)
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
		line := s.Holds(first, l, hasKeys, clock.Moment{})
		time.Sleep(headStart - 1)
		s.want(local.Behind, second)
		third := s.join(true)
		s.Quit(second)
		time.Sleep(headStart - 1)
		s.want(local.Behind, third)
		time.Sleep(2 * time.Nanosecond)
		s.want(local.Asks, third)
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
		s.want(local.Carried, first)
		first.Give(local.Grant{Numbers: proto.Numbers{First: 7, Last: 7}})
		line.Ends(l) // it has been told already
		s.want(local.Given, first)
		s.want(local.Behind, second)
		if g, _ := first.Grant(); g.Numbers.First != 7 {
			t.Errorf("got number %d, want 7", g.Numbers.First)
		}
		line = s.Holds(first, l, hasKeys, clock.Moment{})
		time.Sleep(headStart)
		s.want(local.Asks, second)
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
			if state, got := s.State(first); state != local.Asks || got != doubtful {
				t.Errorf("state %d, doubtful: %t, want %t", state, got, doubtful)
			}
			s.want(local.Behind, second)
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
		s.want(local.Carried, first)
		time.Sleep(2 * time.Nanosecond)
		if state, doubtful := s.State(first); state != local.Asks || !doubtful {
			t.Errorf("state %d, doubtful: %t", state, doubtful)
		}
		s.want(local.Asks, second)
		first.Give(local.Grant{})
		s.want(local.Asks, first)
		s.Quit(first)
		s.Quit(second)
		line.Ends(l)
	})
}

// The first keeps others back for as long as it stands in Redis, and for a moment while it asks.
func TestKeepsBack(t *testing.T) {
	for name, c := range map[string]struct {
		does  func(s *stage, first *local.Waiter)
		keeps time.Duration // it keeps the others back; 0: not at all
	}{
		"it asks":                 {func(*stage, *local.Waiter) {}, longestAsk},
		"it asks again":           {func(s *stage, w *local.Waiter) { s.Stands(w, nil, clock.Now()); time.Sleep(time.Hour); s.Asking(w) }, longestAsk},
		"it pauses":               {func(s *stage, w *local.Waiter) { s.LetGo(w) }, 0},
		"it stands, and hears it": {func(s *stage, w *local.Waiter) { s.Stands(w, nil, clock.Now()) }, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				first := s.join(false)
				others := []*local.Waiter{s.join(true), s.join(true)}
				c.does(s, first)
				if c.keeps > 0 {
					time.Sleep(c.keeps - 1)
					s.want(local.Behind, others...)
				}
				if time.Sleep(2 * time.Nanosecond); c.keeps < time.Hour {
					s.want(local.Asks, others...)
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
		s.want(local.Asks, second)
		s.Quit(second)
	})
}

// A hold is passed on to the first that wants the same, or to nobody, as long as its time goes on and nobody has touched it.
func TestPass(t *testing.T) {
	onStage(t, func(s *stage) {
		l := &lock{}
		holds := func(w *local.Waiter, until time.Duration) *local.Line {
			return s.Holds(w, l, hasKeys, clock.Now().Add(until))
		}
		first := &local.Waiter{Alike: "x"}
		s.Join(first, s.key)
		line := holds(first, time.Minute)
		if line.Pass(l, "hold", nil) {
			t.Error("passed on to nobody")
		}
		other, same, last := &local.Waiter{Alike: "y"}, &local.Waiter{Alike: "x"}, &local.Waiter{Alike: "x"}
		for _, w := range []*local.Waiter{other, same, last} {
			s.Join(w, s.key)
		}
		if line.Pass(l, "hold", nil) {
			t.Error("passed on to somebody who wants something else, or behind whom somebody waits")
		}
		s.Quit(other)
		if line.Pass(&lock{}, "hold", nil) {
			t.Error("a lock that does not hold the set has passed it on")
		}
		if !line.Pass(l, "hold", nil) {
			t.Error("not passed on")
		}
		s.want(local.Given, same)
		if g, _ := same.Grant(); g.Hold != "hold" {
			t.Errorf("passed on: %v", g.Hold)
		}
		holds(same, time.Hour) // it keeps its time
		time.Sleep(headStart / 2)
		line.Touch(&lock{})
		if line.Touch(l); line.Pass(l, "hold", nil) {
			t.Error("passed on although it was touched")
		}
		line.Ends(l)
		s.want(local.Asks, last)
		holds(last, time.Millisecond)
		again := &local.Waiter{Alike: "x"}
		s.Join(again, s.key)
		if time.Sleep(time.Millisecond); line.Pass(l, "hold", nil) {
			t.Error("passed on after its time")
		}
		s.Quit(again)
		line.Ends(l)
	})
}

// A waiter that was given the keys and quits lets the next one ask.
func TestGivenQuits(t *testing.T) {
	onStage(t, func(s *stage) {
		l := &lock{}
		line := s.held(l)
		first, second := s.join(true), s.join(true)
		line.Choose(l, nil).Give(local.Grant{})
		line.Ends(l)
		if was := s.Quit(first); was != local.Given {
			t.Errorf("it was in state %d", was)
		}
		s.want(local.Asks, second)
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
		line := s.Holds(first, l, hasKeys, clock.Moment{})
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
		const many = 1000
		keyOf := func(i int) local.Key { return local.Key{First: strconv.Itoa(i)} }
		for i := range many {
			s.key = keyOf(i)
			l := &lock{}
			line := s.held(l)
			defer line.Ends(l)
			l.ended = true
		}
		n := 0
		for i := range many {
			if s.Find(keyOf(i)) != nil {
				n++
			}
		}
		if n > 200 {
			t.Errorf("%d lines are kept", n)
		}
		s.Lines = &local.Lines{}
	})
}

// poll has a waiter that polls come.
func (s *stage) poll(waits bool) *local.Waiter {
	s.t.Helper()
	w := &local.Waiter{Arrived: clock.Now(), Polls: true}
	if s.Join(w, s.key) != waits {
		s.t.Fatalf("it is to wait: %t, want %t", !waits, waits)
	}
	time.Sleep(time.Nanosecond)
	return w
}

// A Release is not to carry one that polls while it asks, or that has left. The others come in their order.
func TestChoosesWhoPolls(t *testing.T) {
	onStage(t, func(s *stage) {
		first, second, third := s.poll(false), s.poll(false), s.poll(false)
		line := s.Find(s.key)
		choose := func(want *local.Waiter) {
			t.Helper()
			if got := line.Choose(&lock{}, nil); got != want {
				t.Errorf("got %p, want %p of %p, %p and %p", got, want, first, second, third)
			}
		}
		choose(nil) // all of them ask
		for _, w := range []*local.Waiter{third, second} {
			s.Rests(w, nil, clock.Now())
		}
		choose(second)
		choose(nil) // it is carried, and keeps the others back
		second.Refuse(false)
		s.want(local.Asks, second)
		choose(third)
		third.Refuse(true)
		s.Rests(second, nil, clock.Now())
		s.Rests(first, nil, clock.Now())
		since := clock.Now()
		time.Sleep(time.Second)
		if !s.Due(second, since) || s.Due(first, since) {
			t.Error("the second is to ask, and the first need not then")
		}
		s.want(local.Asks, second)
		s.want(local.Behind, first)
		choose(first)
		first.Give(local.Grant{})
		s.want(local.Given, first)
		if w := s.poll(true); s.Polled() {
			s.Quit(w)
		}
		for _, w := range []*local.Waiter{first, second, third} {
			s.Quit(w)
			s.Quit(w)
		}
		if s.Polled() || s.Find(s.key) != nil {
			t.Error("nobody is left, and the line is there")
		}
	})
}
