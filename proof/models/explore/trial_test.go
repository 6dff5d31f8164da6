package explore

import (
	"slices"
	"strings"
	"testing"
)

// What is wrong with all rules is said, and which rule is not missed, unless it is one for later.
func TestComplaints(t *testing.T) {
	t.Parallel()
	const limit, never = 200, 300
	for name, tt := range map[string]struct {
		with    int // where the model is wrong with all rules
		without int // and without one
		later   []string
		want    []string // how the complaints begin
	}{
		"sound":     {with: never, without: 1},
		"missed":    {with: never, without: limit - 1},
		"wrong":     {with: limit - 1, without: 1, want: []string{"count: with all rules:\n  too much:\n    add to 0\n"}},
		"unneeded":  {with: never, without: never, want: []string{"without spare (a rule): "}},
		"for later": {with: never, without: never, later: []string{"other", "spare"}},
	} {
		g := Group{Rules: []Rule{{Name: "spare", Text: "a rule"}}, Programs: func(without string) []Program {
			if without == "" {
				return []Program{count(tt.with)}
			}
			return []Program{count(tt.without)}
		}}
		if got := g.Complaints(limit, limit, tt.later...); !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// count is a number that grows, and is too much at one point.
func count(wrongAt int) Model[int] {
	return Model[int]{
		Name: "count",
		Next: func(s int, visit func(Event, int)) { visit(Step("add to %d", s), s+1) },
		Wrong: func(s int) string {
			if s == wrongAt {
				return "too much"
			}
			return ""
		},
	}
}
