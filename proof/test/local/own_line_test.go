package local_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/local"
)

// No name of a key makes two sets look like the same one, with numbers or without: whoever waits gets the keys that it has asked
// for.
func TestNamesThatLookAlike(t *testing.T) {
	one, two := "{k}"+strings.Repeat("x", 12), "{k}"+strings.Repeat("y", 12)
	for name, c := range map[string]struct {
		held, wanted []string
		fenced       bool
	}{
		"another key in the middle":      {[]string{"{k}a", "{k}b", "{k}c"}, []string{"{k}a", "{k}d", "{k}c"}, false},
		"the same second key, no number": {[]string{"{k}a", "{k}b"}, []string{"{k}a", "{k}b"}, true},
		"keys that hold a separator":     {[]string{"{k}a", "{k}b|0:{k}c", "{k}d"}, []string{"{k}a", "{k}b", "{k}c|0:{k}d"}, false},
		"keys that hold a length": {
			[]string{"{k}", "9", one, "|159" + two}, []string{"{k}", "|159" + one, "9", two}, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *scene) {
				s.keys = c.held
				lock := s.obtain(s.Client, options("first"))
				opt := options("next")
				opt.Fenced, s.keys = c.fenced, c.wanted
				s.waits(t.Context(), s.Client, opt)
				check.NoError(t, lock.Release(t.Context()))
				got := s.wants("next")
				for _, key := range c.wanted {
					if value := s.RDB.Get(t.Context(), key).Val(); value == "" {
						t.Errorf("%q is not held", key)
					}
				}
				if (got.Fence() > 0) != c.fenced {
					t.Errorf("got number %d", got.Fence())
				}
				check.NoError(t, got.Release(t.Context()))
			})
		})
	}
}

// Lines that nobody needs are looked for when there are more than 64, and after that when there are twice as many as the look
// before has left, and 64.
func TestWhenLinesAreSwept(t *testing.T) {
	onStage(t, func(s *stage) {
		looks := 0
		var got []int
		for i := range 600 {
			s.key.First = strings.Repeat("k", i)
			w := s.join(false)
			if looks > 0 {
				got = append(got, i+1)
			}
			s.Holds(w, &lock{}, func(any) bool {
				if i == 0 {
					looks++
				}
				return true
			}, clock.Moment{})
			looks = 0
		}
		if want := []int{66, 196, 456}; !slices.Equal(got, want) {
			t.Errorf("there was a look when these came: %d, want %d", got, want)
		}
		s.key.First = "none"
	})
}

// A line stays for as long as one that stood in it asks by itself, and no Release carries anybody meanwhile.
func TestAskingApartKeepsTheLine(t *testing.T) {
	onStage(t, func(s *stage) {
		first := s.join(false)
		s.LetGo(first)
		s.Quit(s.join(false))
		if s.Find(s.key) == nil {
			t.Error("the line is forgotten while one of it asks")
		}
		s.Quit(first)
	})
	onStage(t, func(s *stage) {
		first := s.join(false)
		second := s.join(true)
		s.LetGo(first)
		l := &lock{}
		line := s.Holds(first, l, hasKeys, clock.Moment{})
		third := s.join(true)
		if line.Choose(l, nil) != nil {
			t.Error("a Release carries one, while another one asks by itself")
		}
		s.Quit(second)
		if line.Choose(l, nil) != third {
			t.Error("a Release carries nobody, and nobody asks")
		}
		third.Refuse(false)
		s.Quit(third)
		line.Ends(l)
	})
}

// Whoever asks every now and then counts from when it joins until it quits, once.
func TestPollersAreCounted(t *testing.T) {
	onStage(t, func(s *stage) {
		l := &lock{}
		line := s.held(l)
		for range 2 {
			var all []*local.Waiter
			for range 3 {
				w := &local.Waiter{Arrived: clock.Now(), Polls: true}
				if !s.Join(w, s.key) || !s.Polled() {
					t.Fatal("it is not to wait, or does not count")
				}
				all = append(all, w)
			}
			s.Due(all[0], clock.Now())
			for i, w := range all {
				s.Quit(w)
				if s.Quit(w); s.Polled() != (i < len(all)-1) {
					t.Errorf("%d of %d have quit: somebody counts: %t", i+1, len(all), s.Polled())
				}
			}
		}
		line.Ends(l)
	})
}

// Only the lock that holds a set says that its hold is not passed on any more.
func TestTouchOfTheHolder(t *testing.T) {
	for name, mine := range map[string]bool{"of the holder": true, "of another lock": false} {
		t.Run(name, func(t *testing.T) {
			onStage(t, func(s *stage) {
				l, other := &lock{}, &lock{}
				line := s.Holds(s.join(false), l, hasKeys, clock.Now().Add(time.Hour))
				w := s.join(true)
				if mine {
					line.Touch(l)
				} else {
					line.Touch(other)
				}
				if line.Pass(l, "hold", nil) == mine {
					t.Errorf("the hold is passed on: %t", !mine)
				}
				s.Quit(w)
				line.Ends(l)
			})
		})
	}
}

// A waiter that is told several times before it looks is told once, and does not miss it.
func TestWaiterIsToldOnce(t *testing.T) {
	onStage(t, func(s *stage) {
		l := &lock{}
		line := s.held(l)
		polls := &local.Waiter{Arrived: clock.Now(), Polls: true}
		s.Join(polls, s.key)
		queues := s.join(true)
		for range 3 {
			s.Hasten()
		}
		for i, w := range []*local.Waiter{polls, queues} {
			for told := range 2 {
				if _, is := check.Receive(w.C(), time.Millisecond); is != (told == 0) {
					t.Errorf("waiter %d is told a %d. time: %t", i, told+1, is)
				}
			}
			s.Quit(w)
		}
		line.Ends(l)
	})
}
