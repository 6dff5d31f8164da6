package line_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// A lateStory is who held which key in a history, and who wanted which, from when to when. It is told while things happen, and
// then tells who waited although nothing was in its way.
type lateStory struct {
	mu     sync.Mutex
	began  time.Time
	holds  []*lateHold
	wants  []*lateWant
	losses []lateLoss
	said   []string
}

// A lateHold is one key while it is taken, also by nobody after its holder has left it.
type lateHold struct {
	key   string
	write bool
	span
	by *lateWant
}

// A lateWant is one who wants keys, from its call until it has them, gives up or dies.
type lateWant struct {
	who   string
	of    int             // its client
	modes map[string]bool // key → whether it is to be written
	polls time.Duration   // how often it asks; 0: it stands in line
	dead  bool            // its process has died while it waited
	span
}

// A lateLoss is a request or an answer of a client that the test has lost.
type lateLoss struct {
	of int
	at time.Time
}

// A span is a time from a moment to another one.
type span struct{ from, till time.Time }

// say takes down what happens, for the message of a test that fails.
func (s *lateStory) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf("%8v  ", time.Since(s.began))+fmt.Sprintf(format, args...))
}

// late returns what is to be said of those who have waited for nothing.
func (s *lateStory) late() (late []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.wants {
		free := w.from
		spans := s.inTheWay(i)
		slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
		for _, b := range append(spans, span{from: w.till, till: w.till}) {
			if gap := (span{free, b.from}); gap.till.Sub(gap.from) > s.allowed(w, gap) {
				late = append(late, fmt.Sprintf("%s waits from %v to %v although nothing is in its way", w.who,
					gap.from.Sub(s.began), gap.till.Sub(s.began)))
			}
			if b.till.After(free) {
				free = b.till
			}
		}
	}
	return late
}

// allowed is how long a waiter may wait for nothing. Who polls asks when its strategy says so. Who stands in line asks soon
// after the end of a lease, one behind the other: see endings. A request that was lost is sent again after a pause.
func (s *lateStory) allowed(w *lateWant, gap span) time.Duration {
	const soon, resent = 50 * time.Millisecond, 70 * time.Millisecond
	limit := soon + w.polls
	for _, l := range s.losses {
		if l.of == w.of && !l.at.Before(gap.from.Add(-time.Second)) && !l.at.After(gap.till) {
			limit += resent
		}
	}
	return limit
}

// inTheWay returns the times in which somebody was in the way of s.wants[n], in no order: who holds a key, and who came sooner
// and stands in line. Who polls has to let all pass who stand in line, and those who stand in line none who polls.
func (s *lateStory) inTheWay(n int) (spans []span) {
	w := s.wants[n]
	for key, writes := range w.modes {
		for _, h := range s.holds {
			if h.key == key && (writes || h.write) && h.by != w {
				spans = append(spans, h.span)
			}
		}
		for i, x := range s.wants {
			if i == n || x.polls > 0 || i > n && w.polls == 0 {
				continue
			}
			if other, wants := x.modes[key]; wants && (writes || other) {
				spans = append(spans, span{x.from, s.passed(x, w)})
			}
		}
	}
	return slices.DeleteFunc(spans, func(b span) bool { return !b.till.After(w.from) || !b.from.Before(w.till) })
}

// passed is when a waiter is in the way of another one no more. One that has died is passed when the leases are over that were
// in the way of both of them at a common key, and by those who poll at once. If there are none nobody has a reason to look: a
// round of the Client does, within 5 s. If a request of that is lost the next one does, a second later.
func (s *lateStory) passed(x, w *lateWant) time.Time {
	const round = 5 * time.Second
	if !x.dead || w.polls > 0 {
		return x.till
	}
	passed := x.till.Add(round)
	for _, l := range s.losses {
		if l.of == w.of && l.at.After(x.till) {
			passed = passed.Add(time.Second)
		}
	}
	for key, writes := range w.modes {
		if _, common := x.modes[key]; common {
			if end := s.heldUntil(key, writes, x.till); end.After(x.till) && end.Before(passed) {
				passed = end
			}
		}
	}
	return passed
}

// heldUntil is until when a key is held without a break from a moment on, in a mode that is in the way; that moment if it is not.
func (s *lateStory) heldUntil(key string, writes bool, at time.Time) time.Time {
	holds := slices.Clone(s.holds)
	slices.SortStableFunc(holds, func(a, b *lateHold) int { return cmp.Compare(a.from.UnixNano(), b.from.UnixNano()) })
	for _, h := range holds {
		if h.key == key && (writes || h.write) && !h.from.After(at) && h.till.After(at) {
			at = h.till
		}
	}
	return at
}

func (s *lateStory) String() string { return strings.Join(s.said, "\n") }
