package line_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A free set is not given to a waiter that came later to one of its keys than another waiter, which still waits for
// another key.
func TestQueuePastNobody(t *testing.T) {
	t.Parallel()
	world.InTurn(t, func(t *testing.T, w, other *world.World) {
		turns := make(chan world.Turn, 3)
		first, second := holdPart(t, w, "AB"), holdPart(t, w, "C")
		lineUp(t, other, turns, "BC", "AB", "A")
		check.NoError(t, first.Release(t.Context()))
		world.WantNobody(t, turns)
		check.NoError(t, second.Release(t.Context()))
		inside := world.WantTurn(t, turns, "BC")
		world.WantNobody(t, turns)
		check.NoError(t, inside[0].Release(t.Context()))
		inside = world.WantTurn(t, turns, "AB")
		check.NoError(t, inside[0].Release(t.Context()))
		wantCleared(t, w, turns, world.WantTurn(t, turns, "A")...)
	})
}
