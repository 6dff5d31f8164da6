package explore

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Complaints says what is wrong with the models of a group, as far as two bounded searches show it: with all rules nothing is to
// be found among so many states, and without each rule something is among so many others. The rules that are named in later take
// more states than that to be missed: they are not left out.
func (g Group) Complaints(with, without int, later ...string) (complaints []string) {
	for _, p := range g.Programs("") {
		if t := p.Search(Limit{States: with}); t.Violations > 0 {
			complaints = append(complaints, fmt.Sprintf("%s: with all rules:\n%s", p.Title(), t.Text()))
		}
	}
	for _, r := range g.Rules {
		if !slices.Contains(later, r.Name) && !g.notices(r.Name, without) {
			complaints = append(complaints, fmt.Sprintf("without %s (%s): nobody notices", r.Name, r.Text))
		}
	}
	return complaints
}

// notices searches first where it is quick.
func (g Group) notices(rule string, states int) bool {
	return slices.ContainsFunc([]int{states / 50, states}, func(limit int) bool {
		return slices.ContainsFunc(g.Programs(rule), func(p Program) bool {
			return p.Search(Limit{States: limit, Violations: 1}).Violations > 0
		})
	})
}

// Text has the shortest way to each kind of violation, a line for each step.
func (t *Tally) Text() string {
	var s strings.Builder
	for _, wrong := range slices.Sorted(maps.Keys(t.Ways)) {
		fmt.Fprintf(&s, "  %s:\n    %s\n", wrong, strings.Join(t.Ways[wrong], "\n    "))
	}
	return s.String()
}
