package fence_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Readers that die while others read do not pile up.
func TestFenceOfDeadReaders(t *testing.T) {
	world.Scenario(t, func(t *testing.T, w *world.World) {
		given := make(ledger)
		lock := takeAs(t, w, "alive", "a", world.Fenced())
		number := given.enter(t, lock)
		for range 3 {
			for range 100 {
				dead, err := w.Client.ObtainRead(t.Context(), w.Keys("a"), 50*time.Millisecond, world.Fenced())
				if err == nil {
					given.enter(t, dead)
				}
			}
			time.Sleep(60 * time.Millisecond)
		}
		given[w.Key("a")] = max(given[w.Key("a")], number)
		given.enter(t, takePart(t, w, "a", world.Fenced()))
		if n := check.Must[int64](t)(w.RDB.HLen(t.Context(), fenceOf(w, "a")).Result()); n > 100 {
			t.Errorf("%d numbers are stored, of 2 readers", n)
		}
		wantNumber(t, takeAs(t, w, "alive", "a", world.Fenced()), number)
	})
}
