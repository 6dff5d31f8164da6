package main

import "hash/maphash"

// A tally is what a search has found.
type tally struct {
	states     int
	checked    int
	violations int
	traces     map[string][]event // the shortest to each kind of violation
}

// A limit is when a search stops before it has visited everything; the zero one never.
type limit struct {
	states     int
	violations int
}

func (l limit) reached(t *tally) bool {
	return l.states > 0 && t.states >= l.states || l.violations > 0 && t.violations >= l.violations
}

// A node is how a state was reached.
type node struct {
	before *node
	event  event
}

// trace returns the events that lead there.
func (n *node) trace() []event {
	if n.before == nil {
		return nil // the start
	}
	return append(n.before.trace(), n.event)
}

// add adds what another search has found.
func (t *tally) add(other tally) {
	t.states += other.states
	t.checked += other.checked
	t.violations += other.violations
}

// search visits every state of a model, those that take the fewest steps first. It does not go on from one
// that violates something. States are distinguished by two hashes of 64 bits.
func (m *model) search(limit limit) tally {
	type found struct {
		state state
		node  *node
	}
	t := tally{traces: map[string][]event{}}
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	seen := map[[2]uint64]struct{}{}
	var todo, later []found
	from := (*node)(nil)
	visit := func(s state, e event) {
		key := [2]uint64{maphash.Comparable(seeds[0], s), maphash.Comparable(seeds[1], s)}
		if _, ok := seen[key]; ok {
			return
		}
		seen[key] = struct{}{}
		t.states++
		n := &node{from, e}
		wrong, looked := m.check(&s)
		t.checked += looked
		if wrong == "" {
			later = append(later, found{s, n})
			return
		}
		t.violations++
		if _, ok := t.traces[wrong]; !ok {
			t.traces[wrong] = n.trace()
		}
	}
	visit(m.start(), event{})
	for len(later) > 0 && !limit.reached(&t) {
		todo, later = later, nil
		for i := range todo {
			from = todo[i].node
			m.next(&todo[i].state, visit)
		}
	}
	return t
}
