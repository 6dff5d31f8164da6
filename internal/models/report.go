package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A report is what there is to say about the models of a group.
type report struct {
	group  group
	traces bool // with the shortest way to each kind of violation
	text   strings.Builder
	failed bool
}

// make searches the models with all rules, where nothing is to be found, and without each of the rules, where
// something is; or with one rule left out only, if it is named.
func (r *report) make(only string) {
	for _, b := range append([]breach{nothing}, r.group.breaches...) {
		if only != "" && only != b.String() {
			continue
		}
		began := time.Now()
		tallies := r.group.search(b)
		if b == nothing {
			r.list(tallies)
		}
		r.sum(b, tallies, time.Since(began))
		if r.traces {
			for i, t := range tallies {
				r.text.WriteString(t.ways(r.group.models[i].program))
			}
		}
	}
}

// list says what was found in each model.
func (r *report) list(tallies []tally) {
	fmt.Fprintf(&r.text, "%-28s %9s %10s %10s\n", r.group.name, "states", "checked", "violations")
	for i, t := range tallies {
		fmt.Fprintf(&r.text, "  %-26s %9d %10d %10d\n", r.group.models[i].program, t.states, t.checked, t.violations)
	}
}

// sum says what was found in all of them, and whether that is as it has to be.
func (r *report) sum(b breach, tallies []tally, took time.Duration) {
	var all tally
	for _, t := range tallies {
		all.add(t)
	}
	name, verdict := "all", ""
	if b != nothing {
		name = "without " + b.String()
	}
	if (all.violations > 0) != (b != nothing) {
		r.failed, verdict = true, "  FAIL"
	}
	fmt.Fprintf(&r.text, "  %-26s %9d %10d %10d %8v%s\n",
		name, all.states, all.checked, all.violations, took.Round(10*time.Millisecond), verdict)
}

// search searches the models of a group without one rule, as many at a time as there are processors.
func (g *group) search(b breach) []tally {
	tallies := make([]tally, len(g.models))
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	var done sync.WaitGroup
	for i, m := range g.models {
		places <- struct{}{}
		done.Go(func() {
			m = m.without(b)
			tallies[i] = m.search(limit{})
			<-places
		})
	}
	done.Wait()
	return tallies
}

// ways shows the shortest way to each kind of violation.
func (t *tally) ways(program string) string {
	var s strings.Builder
	for _, wrong := range slices.Sorted(maps.Keys(t.traces)) {
		fmt.Fprintf(&s, "    %s: %s:\n", program, wrong)
		for _, e := range t.traces[wrong] {
			fmt.Fprintf(&s, "      %s\n", e)
		}
	}
	return s.String()
}
