package redislock_test

import "testing"

// A set that is free is not for one who came later to one of its keys than somebody who waits for
// another key still.
func TestQueuePastNobody(t *testing.T) {
	t.Parallel()
	inTurn(t, func(t *testing.T, w, other *world) {
		turns := make(chan turn, 3)
		first, second := w.hold(t, "AB"), w.hold(t, "C")
		other.lineUp(t, turns, "BC", "AB", "A")
		noError(t, first.Release(t.Context()))
		wantNobody(t, turns)
		noError(t, second.Release(t.Context()))
		inside := wantTurn(t, turns, "BC")
		wantNobody(t, turns)
		noError(t, inside[0].Release(t.Context()))
		inside = wantTurn(t, turns, "AB")
		noError(t, inside[0].Release(t.Context()))
		w.clear(t, turns, wantTurn(t, turns, "A")...)
	})
}
