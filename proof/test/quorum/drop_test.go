package quorum_test

import (
	"testing"

	"github.com/seed-14de3678/redislock/quorum"
)

// A node that has lost one key of a set still has the other, until the Release: of a token of the caller's
// nothing is released before, lest it is that of the next lock.
func TestReleaseWhereLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3)
	lock := must[*quorum.Lock](t)(w.client.As(t.Name()).Obtain(bounded(t), []string{"k", "l"}, long, nil))
	wantNodes(t, lock, 3)
	w.steal(t, 2) // "k"
	noError(t, lock.Refresh(bounded(t), long))
	wantNodes(t, lock, 2)
	w.wantHolders(t, "l", 3)
	noError(t, lock.Release(bounded(t)))
	w.wantHolders(t, "l", 0)
}
