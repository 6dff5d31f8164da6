package late

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/proof/models/explore"
)

// The shortest way to a waiter in line whose call has ended, as a trace shows it.
func TestTrace(t *testing.T) {
	t.Parallel()
	g := lines()
	m := g.models[0].without(unaskedEntry)
	got := m.system().Search(explore.Limit{Violations: 1})
	for _, way := range got.Ways {
		for _, step := range way {
			if strings.HasPrefix(step, "late: queue{AB} of hold 0, lease 2, number 1") {
				return
			}
		}
	}
	t.Errorf("no late request among %v", got.Ways)
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
