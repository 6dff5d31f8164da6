package main

import (
	"strings"
	"testing"
)

// The first states of every model, those that take the fewest steps; most rules are missed there already.
// `make models` visits all of them.
func TestModels(t *testing.T) {
	t.Parallel()
	later := map[breach]bool{forGood: true, lowers: true, settlesAll: true, settlesOvertaken: true, settlesErrors: true}
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, m := range g.models {
				if got := m.search(limit{states: 1000}); got.violations > 0 {
					t.Errorf("violations:\n%s", got.ways(m.program))
				}
			}
			for _, b := range g.breaches {
				if !later[b] && !g.notices(b) {
					t.Errorf("without %s: nothing is noticed", b)
				}
			}
		})
	}
}

// notices reports whether a model has a violation among its first states without a rule.
func (g *group) notices(b breach) bool {
	for _, m := range g.models {
		m = m.without(b)
		if m.search(limit{states: 4000, violations: 1}).violations > 0 {
			return true
		}
	}
	return false
}

// The shortest way to a ghost in line, as a trace shows it.
func TestTrace(t *testing.T) {
	t.Parallel()
	g := lines()
	m := g.models[0].without(ghost)
	got := m.search(limit{violations: 1})
	for _, events := range got.traces {
		for _, e := range events {
			if e.kind == arrives && strings.HasPrefix(e.String(), "late: queue{AB} of hold 0, lease 2, number 1") {
				return
			}
		}
	}
	t.Errorf("no late request among %v", got.traces)
}

// Every rule that can be left out has a name, and is left out somewhere.
func TestBreaches(t *testing.T) {
	t.Parallel()
	used := make(map[breach]bool)
	for _, g := range groups() {
		for _, b := range g.breaches {
			used[b] = true
		}
	}
	for b := nothing + 1; b < breaches; b++ {
		if b.String() == "" || !used[b] {
			t.Errorf("breach %d, %q, is left out nowhere", b, b)
		}
	}
}
