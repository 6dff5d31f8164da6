package redislock_test

import (
	"testing"
	"time"
)

// Readers that die while others read do not pile up.
func TestFenceOfDeadReaders(t *testing.T) {
	scenario(t, func(t *testing.T, w *world) {
		given := make(ledger)
		lock := w.take(t, "a", fenced("alive"))
		number := given.enter(t, lock)
		for range 3 {
			for range 100 {
				dead, err := w.client.ObtainRead(t.Context(), w.keys("a"), 50*time.Millisecond, fenced(""))
				if err == nil {
					given.enter(t, dead)
				}
			}
			time.Sleep(60 * time.Millisecond)
		}
		given[w.key("a")] = max(given[w.key("a")], number)
		given.enter(t, w.take(t, "a", fenced("")))
		if n := must[int64](t)(w.rdb.HLen(t.Context(), w.fence("a")).Result()); n > 100 {
			t.Errorf("%d numbers are stored, of 2 readers", n)
		}
		wantNumber(t, w.take(t, "a", fenced("alive")), number)
	})
}
