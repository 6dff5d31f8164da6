package wire

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
)

// A timer that several tries have one after the other ends each of them when its own time is over.
func TestDialTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := new(lane)
		isOver := func(try *tryContext) bool {
			synctest.Wait()
			return try.Err() != nil
		}
		d := l.newDialTimer()
		for round := range 3 {
			var quick, slow tryContext
			d.begin(&quick, clock.Now())
			time.Sleep(overdue - 10*time.Millisecond)
			l.endDialTimer(d)
			d.begin(&slow, clock.Now())
			time.Sleep(overdue - time.Millisecond)
			if isOver(&quick) || isOver(&slow) {
				t.Errorf("round %d: a try has ended too soon", round)
			}
			time.Sleep(2 * time.Millisecond)
			if isOver(&quick) || !isOver(&slow) {
				t.Errorf("round %d: got over %t and %t, want only the second", round, isOver(&quick), isOver(&slow))
			}
			l.endDialTimer(d)
			time.Sleep(time.Hour)
		}
	})
}
