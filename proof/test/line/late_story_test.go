package line_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
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

// A lateHold is one key for as long as a lease of it has one end, also while it is left by its holder.
type lateHold struct {
	key   string
	write bool
	span
	due time.Time // when the lease was to end
	by  *lateWant
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
// after the end of a lease, one behind the other: see endings. A request that was lost is sent again after a pause, of 20 to
// 60 ms; the next one is four times as long.
func (s *lateStory) allowed(w *lateWant, gap span) time.Duration {
	limit, resent := 50*time.Millisecond+w.polls, 60*time.Millisecond
	if s.isFirst(w) {
		limit = clock.AfterEnd + time.Millisecond
	}
	for _, l := range s.losses {
		if l.of == w.of && !l.at.Before(gap.from.Add(-time.Second)) && !l.at.After(gap.till) {
			limit, resent = limit+resent, 4*resent
		}
	}
	return limit
}

// isFirst reports whether a waiter knows from the beginning that it is the first in the line of its only key.
func (s *lateStory) isFirst(w *lateWant) bool {
	if w.polls > 0 || len(w.modes) > 1 {
		return false
	}
	for _, x := range s.wants {
		if x == w {
			break
		}
		for key := range x.modes {
			if _, common := w.modes[key]; common && x.polls == 0 && (x.dead || !x.till.Before(w.from)) {
				return false
			}
		}
	}
	return true
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

// passed is when a waiter is in the way of another one no more. One that has died is passed by those who poll at once, and by
// those who stand in line when they ask, for a key that nobody holds. That is after the end of the lease that was in the way
// when they asked last. Somebody who was kept out by another waiter knows of no lease, and only the first in line is told of one
// that ends sooner than was known. So if the first has died a round of the Client finds out, within 5 s; or the next round, a
// second later, if a request of that one is lost.
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
	for at := w.from; at.Before(passed); {
		next, ok := s.asksAfter(w, at)
		switch {
		case !ok:
			return passed
		case next.After(at):
			at = next
		case !at.Before(x.till):
			return at
		default:
			at = at.Add(time.Millisecond)
		}
	}
	return passed
}

// asksAfter is until when a waiter asks again at the latest that has asked at a moment, or at any moment since, as far as it
// knows of leases.
func (s *lateStory) asksAfter(w *lateWant, at time.Time) (next time.Time, ok bool) {
	next = at
	for moment := at; ; {
		known, ok := s.learns(w, moment)
		if !ok {
			return next, false
		}
		next = latest(next, known)
		following := next
		for _, h := range s.holds {
			for _, t := range []time.Time{h.from, h.till} {
				if t.After(moment) && t.Before(following) {
					following = t
				}
			}
		}
		if following.Equal(next) {
			return next, true
		}
		moment = following
	}
}

// learns is when the lease is over that is in the way of a waiter that asks at a moment, or a little later; that moment if
// nothing is in its way. If it is another waiter it does not learn of any lease.
func (s *lateStory) learns(w *lateWant, at time.Time) (over time.Time, ok bool) {
	const later = 12 * time.Millisecond
	for _, key := range w.keys() {
		for _, h := range s.holds {
			if h.key == key && (w.modes[key] || h.write) && !h.from.After(at.Add(later)) && h.till.After(at) && h.due.After(over) {
				over = h.due
			}
		}
		if !over.IsZero() {
			return over, true
		}
		for _, x := range s.wants {
			if x == w {
				break
			}
			if other, wants := x.modes[key]; wants && (w.modes[key] || other) && x.polls == 0 && x.till.After(at.Add(later)) {
				return at, false
			}
		}
	}
	return at, true
}

// keys are those that it wants, in the order in which a script looks at them.
func (w *lateWant) keys() []string {
	keys := slices.Sorted(maps.Keys(w.modes))
	slices.SortStableFunc(keys, func(a, b string) int {
		switch {
		case w.modes[a] == w.modes[b]:
			return 0
		case w.modes[a]:
			return -1
		}
		return 1
	})
	return keys
}

func (s *lateStory) String() string { return strings.Join(s.said, "\n") }
