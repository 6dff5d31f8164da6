package outcome_test

import (
	"testing"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// The process forgets a token that a caller has asked for, once the lock was released: otherwise each such token would stay in its
// memory.
func TestShownTokenIsForgotten(t *testing.T) {
	world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
		lock := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), w.Keys("k"), world.Long, nil))
		token := lock.Token()
		before := owners.Of(token)
		before.Done(token)
		check.NoError(t, lock.Release(t.Context()))
		after := owners.Of(token)
		defer after.Done(token)
		if after == before {
			t.Error("the owner of the token is known still")
		}
	})
}
