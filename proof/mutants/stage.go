package main

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// A stage tries mutants on the tests of some packages. Each is tried by itself first, on the tests that are most likely to notice
// it for what they cost. Most of those that are left then will be noticed by no test. So some of them are planted at once, in
// different functions: if all tests pass, none of them is noticed, and otherwise each half is tried.
type stage struct {
	*campaign
	tests []*test
	past  history

	mu   sync.Mutex
	left map[*defect][]*test // what a mutant is still to be tried on, the most likely tests first
}

const (
	// aloneFor is the processor time of tests that a mutant is tried on by itself, even if they are not likely to notice it.
	aloneFor = 300 * time.Millisecond
	// likely is the chance of a test from which on a mutant is tried on it by itself.
	likely = 0.1
	// together is how many mutants are planted at once.
	together = 8
	// firstRun and longRun are what the tests of the first process for a mutant cost together, and those of a later one.
	firstRun = 100 * time.Millisecond
	longRun  = 2 * time.Second
)

// run tries mutants until each is noticed, or no test is left.
func (s *stage) run(ctx context.Context, where string, some []*defect) error {
	err := s.inParallel(ctx, where, one(some), func(group []*defect) error { return s.tryAlone(ctx, group[0]) })
	if err != nil || ctx.Err() != nil {
		return err
	}
	var rest []*defect
	for _, m := range some {
		if len(s.left[m]) > 0 {
			rest = append(rest, m)
		}
	}
	return s.inParallel(ctx, where+", together", apart(rest), func(group []*defect) error { return s.tryTogether(ctx, group, s.testsOf(group)) })
}

// one makes groups of one.
func one(some []*defect) [][]*defect {
	return slices.Collect(slices.Chunk(some, 1))
}

// apart makes groups of mutants that are in different functions.
func apart(some []*defect) [][]*defect {
	place, count := map[*defect]int{}, map[string]int{}
	for _, m := range some {
		in := m.file + " " + m.function
		place[m] = count[in]
		count[in]++
	}
	some = slices.Clone(some)
	slices.SortStableFunc(some, func(a, b *defect) int { return place[a] - place[b] })
	var groups [][]*defect
	for len(some) > 0 {
		n := 1
		for n < min(together, len(some)) && place[some[n]] == place[some[0]] {
			n++
		}
		groups = append(groups, some[:n])
		some = some[n:]
	}
	return groups
}

// tryAlone tries one mutant on the likeliest tests that reach it.
func (s *stage) tryAlone(ctx context.Context, m *defect) error {
	group := []*defect{m}
	tests := s.within(s.past.order(m, slices.DeleteFunc(slices.Clone(s.tests), func(t *test) bool { return !t.reach(group) })))
	spent := time.Duration(0)
	for limit := firstRun; len(tests) > 0 && (spent+tests[0].Costs < s.alone || s.past.chance(m, tests[0]) >= likely); limit *= 2 {
		now, later := next(tests, min(limit, longRun))
		verdict, by, err := s.attempt(ctx, group, now, s.scratch)
		if err != nil || verdict == undecided {
			return err
		}
		s.past.note(m, now, verdict, by)
		if verdict != survived {
			return s.decide(m, verdict)
		}
		tests = later
		spent += costs(now)
	}
	s.mu.Lock()
	s.left[m] = tests
	s.mu.Unlock()
	s.untold(m)
	return nil
}

// testsOf are the tests that some mutants are still to be tried on.
func (s *stage) testsOf(group []*defect) (tests []*test) {
	for _, m := range group {
		for _, t := range s.left[m] {
			if !slices.Contains(tests, t) {
				tests = append(tests, t)
			}
		}
	}
	return s.past.order(group[0], tests)
}

// tryTogether tries some mutants at once.
func (s *stage) tryTogether(ctx context.Context, group []*defect, tests []*test) error {
	for len(tests) > 0 {
		now, later := next(tests, longRun)
		verdict, by, err := s.attempt(ctx, group, now, s.scratch)
		if err != nil || verdict == undecided {
			return err
		}
		for _, m := range group {
			if verdict == survived || len(group) == 1 {
				s.past.note(m, now, verdict, by)
			}
		}
		switch {
		case verdict == survived:
			tests = later
			continue
		case len(group) == 1:
			return s.decide(group[0], verdict)
		case by != nil && len(now) > 1: // nothing else is run as long as this one fails
			tests = append([]*test{by}, slices.DeleteFunc(slices.Clone(tests), func(t *test) bool { return t == by })...)
		}
		half := len(group) / 2
		if err := s.tryTogether(ctx, group[:half], tests); err != nil {
			return err
		}
		return s.tryTogether(ctx, group[half:], tests)
	}
	return nil
}

// next takes off the tests that are run next, in one process: the first one, and others of its package, which come to no more than
// a limit together. What is expensive is run by itself.
func next(tests []*test, limit time.Duration) (now, later []*test) {
	for _, t := range tests {
		if len(now) == 0 || t.in == now[0].in && costs(now)+t.Costs <= limit {
			now = append(now, t)
		} else {
			later = append(later, t)
		}
	}
	return now, later
}

func costs(tests []*test) (sum time.Duration) {
	for _, t := range tests {
		sum += t.Costs
	}
	return sum
}

// within leaves out what would cost more than a mutant may in a stage.
func (c *campaign) within(tests []*test) []*test {
	sum := time.Duration(0)
	for i, t := range tests {
		if sum += t.Costs; i > 0 && c.most > 0 && sum > c.most {
			return tests[:i]
		}
	}
	return tests
}

// A history knows how often each test has noticed mutants of a file, and of a function.
type history struct {
	mu    sync.Mutex
	tally map[string]map[*test]*tally
}

type tally struct{ tried, noticed float64 }

// seldom is how often a test notices a mutant that it reaches, as long as nothing is known of it.
const seldom = 0.03

// chance is how likely a test is to notice a mutant: by what it has noticed of its function, as far as that is known, else of its
// file.
func (h *history) chance(m *defect, t *test) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.chanceOf(m, t)
}

func (h *history) chanceOf(m *defect, t *test) float64 {
	chance := seldom
	for _, in := range []string{m.file, m.file + " " + m.function} {
		if known := h.tally[in][t]; known != nil {
			chance = (known.noticed + chance) / (known.tried + 1)
		}
	}
	return chance
}

// order has those tests first that are likely to notice a mutant for what they cost.
func (h *history) order(m *defect, tests []*test) []*test {
	h.mu.Lock()
	defer h.mu.Unlock()
	worth := map[*test]float64{}
	for _, t := range tests {
		worth[t] = h.chanceOf(m, t) / (t.Costs + 5*time.Millisecond).Seconds()
	}
	slices.SortStableFunc(tests, func(a, b *test) int { return cmp.Compare(worth[b], worth[a]) })
	return tests
}

// note keeps what tests have said of a mutant. If it is not known which one has noticed it, each has a part in it.
func (h *history) note(m *defect, tests []*test, v verdict, by *test) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, in := range []string{m.file, m.file + " " + m.function} {
		if h.tally[in] == nil {
			h.tally[in] = map[*test]*tally{}
		}
		for _, t := range tests {
			known := h.tally[in][t]
			if known == nil {
				known = &tally{}
				h.tally[in][t] = known
			}
			switch {
			case v == survived:
				known.tried++
			case v == caught && by == t:
				known.tried++
				known.noticed++
			case v == caught && by == nil:
				known.tried += 1 / float64(len(tests))
				known.noticed += 1 / float64(len(tests))
			}
		}
	}
}
