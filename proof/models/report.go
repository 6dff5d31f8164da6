package main

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/proof/models/explore"
)

// A report is what there is to say about a group.
type report struct {
	group  explore.Group
	traces bool // with the shortest way to each kind of violation
	text   strings.Builder
	failed bool
}

// make searches the models with all rules, where nothing is to be found, and without each of the rules, where
// something is; or with one rule left out only, if it is named.
func (r *report) make(only string) {
	fmt.Fprintf(&r.text, "%-30s %10s %10s %9s\n", r.group.Name, "states", "violations", "time")
	if only == "" || only == nothing {
		r.whole()
	}
	rules := slices.DeleteFunc(slices.Clone(r.group.Rules), func(rule explore.Rule) bool {
		return only != "" && only != rule.Name
	})
	for _, text := range atOnce(len(rules), func(i int) string { return r.without(rules[i].Name) }) {
		r.text.WriteString(text)
		r.failed = r.failed || strings.Contains(text, fails)
	}
}

const (
	nothing = "nothing"
	fails   = "  FAIL"
)

// whole searches all programs with all rules.
func (r *report) whole() {
	programs := r.group.Programs("")
	tallies := make([]explore.Tally, len(programs))
	began := time.Now()
	lines := atOnce(len(programs), func(i int) string {
		began := time.Now()
		tallies[i] = programs[i].Search(explore.Limit{})
		return row(programs[i].Title(), tallies[i], began) + "\n"
	})
	var all explore.Tally
	for i, t := range tallies {
		all.Add(t)
		r.text.WriteString(lines[i] + r.ways(programs[i], t))
	}
	r.text.WriteString(row("all", all, began))
	if all.Violations > 0 {
		r.failed = true
		r.text.WriteString(fails)
	}
	r.text.WriteString("\n")
}

// without searches the programs without one rule, one after the other, until one of them notices; all of them if ways are to
// be shown.
func (r *report) without(rule string) string {
	began := time.Now()
	limit := explore.Limit{Violations: 1}
	if r.traces {
		limit = explore.Limit{}
	}
	var all explore.Tally
	var ways, noticed string
	for _, p := range r.group.Programs(rule) {
		t := p.Search(limit)
		all.Add(t)
		ways += r.ways(p, t)
		if t.Violations > 0 && noticed == "" {
			noticed = fmt.Sprintf("  %s: %s", p.Title(), shortest(t))
		}
		if noticed != "" && !r.traces {
			break
		}
	}
	if noticed == "" {
		noticed = fails
	}
	return row("without "+rule, all, began) + noticed + "\n" + ways
}

func row(what string, t explore.Tally, began time.Time) string {
	return fmt.Sprintf("  %-28s %10d %10d %9v", what, t.States, t.Violations, time.Since(began).Round(10*time.Millisecond))
}

// shortest returns the violation that takes the fewest steps.
func shortest(t explore.Tally) string {
	wrongs := slices.Sorted(maps.Keys(t.Ways))
	wrong := slices.MinFunc(wrongs, func(a, b string) int { return len(t.Ways[a]) - len(t.Ways[b]) })
	return fmt.Sprintf("%s, in %d steps", wrong, len(t.Ways[wrong]))
}

// ways shows the shortest way to each kind of violation, if that is asked for.
func (r *report) ways(p explore.Program, t explore.Tally) string {
	var s strings.Builder
	for _, wrong := range slices.Sorted(maps.Keys(t.Ways)) {
		if !r.traces {
			break
		}
		fmt.Fprintf(&s, "    %s: %s:\n", p.Title(), wrong)
		for _, step := range t.Ways[wrong] {
			fmt.Fprintf(&s, "      %s\n", step)
		}
	}
	return s.String()
}

// atOnce calls do for the numbers below n, as many at a time as there are processors, and returns what it returns.
func atOnce(n int, do func(i int) string) []string {
	texts := make([]string, n)
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	var done sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		done.Go(func() {
			texts[i] = do(i)
			<-places
		})
	}
	done.Wait()
	return texts
}
