package main

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/proof/models/explore"
)

// The rules that are missed after more states than TestModels visits.
var later = []string{"takesany", "fromend", "anynumber", "skewedloss", "fewrenewed"}

// The first states of every model, those that take the fewest steps; most rules are missed there already.
// `make models` visits all of them.
func TestModels(t *testing.T) {
	t.Parallel()
	for _, g := range groups(0) {
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			for _, complaint := range g.Complaints(2_000, 60_000, later...) {
				t.Error(complaint)
			}
		})
	}
}

// Names tell groups and their rules apart, and each of them says what it is about.
func TestNames(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, g := range groups(0) {
		if names[g.Name] || strings.ContainsAny(g.Name, " ") || g.Proves == "" || g.Page == "" {
			t.Errorf("group %q: %q, %q", g.Name, g.Proves, g.Page)
		}
		names[g.Name] = true
		rules := map[string]bool{nothing: true}
		for _, r := range g.Rules {
			if rules[r.Name] || strings.ContainsAny(r.Name, " ") || r.Text == "" {
				t.Errorf("%s: rule %q: %q", g.Name, r.Name, r.Text)
			}
			rules[r.Name] = true
		}
	}
}

// A model with a violation fails, and so does one in which a rule is not missed.
func TestReport(t *testing.T) {
	t.Parallel()
	count := func(wrongAt int) func(string) []explore.Program {
		return func(without string) []explore.Program {
			return []explore.Program{explore.Model[int]{
				Name: "count",
				Next: func(s int, visit func(explore.Event, int)) {
					if s < 5 {
						visit(explore.Step("add to %d", s), s+1)
					}
				},
				Wrong: func(s int) string {
					if s == wrongAt && without != "unneeded" || s == 4 && without == "needed" {
						return "too much"
					}
					return ""
				},
			}}
		}
	}
	for name, tt := range map[string]struct {
		wrongAt int
		rule    string
		failed  bool
		text    string
	}{
		"sound":    {99, "needed", false, "count: too much, in 4 steps"},
		"wrong":    {3, "needed", true, "FAIL"},
		"unneeded": {99, "unneeded", true, "FAIL"},
	} {
		r := report{group: explore.Group{Name: "count", Programs: count(tt.wrongAt), Rules: []explore.Rule{{Name: tt.rule}}}}
		r.make("")
		if r.failed != tt.failed || !strings.Contains(r.text.String(), tt.text) {
			t.Errorf("%s: failed %v:\n%s", name, r.failed, r.text.String())
		}
	}
	r := report{group: explore.Group{Name: "count", Programs: count(2)}, traces: true}
	r.make(nothing)
	if !strings.Contains(r.text.String(), "      add to 0\n      add to 1\n") {
		t.Errorf("no way in\n%s", r.text.String())
	}
}
