// Package explore visits every state that a small model can reach, and says what is wrong with it.
//
// A model is a start and the steps that are possible from a state. It has to be finite: whatever can happen again and again
// is counted, and the number is bounded. Then every way ends somewhere, and what has to come about in the end, such as that
// a waiter gets the lock, is asked of the states from which nothing more can happen: see [System.End].
package explore

import (
	"fmt"
	"hash/maphash"
)

// A System is states S, which are compared by ==, and the steps between them. An E says what a step is.
type System[S comparable, E fmt.Stringer] struct {
	Name  string // of the program that its processes run
	Start S
	// Next visits every state that one step leads to. A step that changes nothing is none.
	Next func(s S, visit func(E, S))
	// Wrong says what is wrong with a state, and nothing if nothing is. No step is taken from a state that is wrong.
	Wrong func(s S) string
	// End says the same of a state from which no step is possible. It may be nil.
	End func(s S) string
	// Settles asks of every state that some way leads from it to one from which no step is possible: nothing goes on for ever
	// without a chance to end. A search that a limit has stopped does not know that.
	Settles bool
}

// A Model is a system whose steps are told by a format and numbers for it.
type Model[S comparable] = System[S, Event]

// An Event is one step, for the reader: a format, and numbers for it.
type Event struct {
	Format string
	Args   [3]int32
	Used   int32 // how many of Args the format has
}

// Step makes an Event.
func Step(format string, args ...int) Event {
	e := Event{Format: format, Used: int32(len(args))}
	for i, arg := range args {
		e.Args[i] = int32(arg)
	}
	return e
}

func (e Event) String() string {
	args := make([]any, e.Used)
	for i := range args {
		args[i] = e.Args[i]
	}
	return fmt.Sprintf(e.Format, args...)
}

// A Limit is when a search stops before it has visited everything; the zero one never.
type Limit struct {
	States     int
	Violations int
}

// FirstStates is the limit of a search that visits the first n states; a quarter of them under the race detector, which takes ten
// times as long.
func FirstStates(n int) Limit { return Limit{States: n / share} }

func (l Limit) reached(t *Tally) bool {
	return l.States > 0 && t.States >= l.States || l.Violations > 0 && t.Violations >= l.Violations
}

// A Tally is what a search has found.
type Tally struct {
	States     int
	Violations int
	Ways       map[string][]string // the shortest way to each kind of violation, step by step
}

// Add adds what another search has found, but its ways.
func (t *Tally) Add(other Tally) {
	t.States += other.States
	t.Violations += other.Violations
}

// A node is how a state was reached.
type node[E fmt.Stringer] struct {
	before *node[E]
	event  E
}

func (n *node[E]) way() []string {
	if n.before == nil {
		return nil // the start
	}
	return append(n.before.way(), n.event.String())
}

// Title is the name of the program.
func (m System[S, E]) Title() string { return m.Name }

// Search visits every state, those that take the fewest steps first. States are distinguished by two hashes of 64 bits.
func (m System[S, E]) Search(limit Limit) Tally {
	s := search[S, E]{
		system: m,
		seeds:  [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		tally:  Tally{Ways: map[string][]string{}},
	}
	var none E
	s.visit(none, m.Start)
	for len(s.later) > 0 {
		todo := s.later
		s.later = nil
		for _, f := range todo {
			if limit.reached(&s.tally) {
				return s.tally
			}
			s.step(f)
		}
	}
	if m.Settles {
		s.settles()
	}
	return s.tally
}

type found[S comparable, E fmt.Stringer] struct {
	state  S
	node   *node[E]
	number int32
}

// A search is what is known while states are visited.
type search[S comparable, E fmt.Stringer] struct {
	system System[S, E]
	seeds  [2]maphash.Seed
	seen   seen
	later  []found[S, E]
	from   found[S, E]
	tally  Tally
	graph  graph[E] // of a system that settles
}

func (s *search[S, E]) step(f found[S, E]) {
	s.from = f
	possible := false
	s.system.Next(f.state, func(e E, next S) {
		if next != f.state {
			possible = true
			s.visit(e, next)
		}
	})
	if possible {
		return
	}
	if s.system.End != nil {
		s.judge(s.system.End(f.state), f.node)
	}
	s.graph.ends = append(s.graph.ends, f.number)
}

func (s *search[S, E]) visit(e E, next S) {
	number, ok := s.seen.number(hash{maphash.Comparable(s.seeds[0], next), maphash.Comparable(s.seeds[1], next)})
	s.note(number)
	if ok {
		return
	}
	s.tally.States++
	n := &node[E]{s.from.node, e}
	isWrong := s.judge(s.system.Wrong(next), n)
	if s.system.Settles {
		s.graph.add(number, n, isWrong)
	}
	if !isWrong {
		s.later = append(s.later, found[S, E]{next, n, number})
	}
}

func (s *search[S, E]) judge(wrong string, n *node[E]) bool {
	if wrong == "" {
		return false
	}
	s.tally.Violations++
	if _, ok := s.tally.Ways[wrong]; !ok {
		s.tally.Ways[wrong] = n.way()
	}
	return true
}
