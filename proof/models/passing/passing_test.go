package passing

import (
	"testing"

	"github.com/seed-14de3678/redislock/proof/models/explore"
)

// Nothing is wrong in any state. Unlike the other models these are small enough for that; TestModels leaves out their rules.
func TestWhole(t *testing.T) {
	t.Parallel()
	for _, p := range programs(none, 0) {
		got := p.Search(explore.FirstStates(500_000))
		if got.Violations > 0 {
			t.Errorf("%s, %d states:\n%s", p.Title(), got.States, got.Text())
		}
	}
}
