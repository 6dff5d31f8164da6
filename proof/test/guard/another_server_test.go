package guard_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A Release that has to be sent again frees the keys also if its token has come to hold such keys on another server meanwhile.
func TestGuardReleaseYieldsToNoOtherServer(t *testing.T) {
	for _, before := range []bool{true, false} {
		for _, hooks := range []bool{true, false} {
			t.Run(fmt.Sprintf("a Refresh before %t, hooks %t", before, hooks), func(t *testing.T) {
				world.Bubble(t, func(t *testing.T, w *world.World, _ *redistest.Mini, _ *world.Journal) {
					elsewhere := world.NewClient(t, redistest.PipeMini(t).Client(t))
					client := w.Client
					if !hooks {
						client = world.NewClient(t, w.RDB)
					}
					lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
					if before {
						outcomeOf(w.RDB, "refresh", io.EOF, nil)
						check.NoError(t, lock.Refresh(t.Context(), time.Hour))
					}
					outcomeOf(w.RDB, "release", io.EOF, func() {
						check.Must[*redislock.Lock](t)(elsewhere.As(lock.Token()).Obtain(t.Context(), w.Keys("a"), time.Hour, nil))
					})
					check.NoError(t, lock.Release(t.Context()))
					w.WantFree(t, w.Key("a"))
				})
			})
		}
	}
}
