package watch

import (
	"testing"
	"testing/synctest"
	"time"
)

// While the screen is paused the search stands still.
func TestPausedSearch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sampler{looks: newMeter(1), asks: make(chan []string, 1)}
		l := &live{watch: &watch{sampler: s, table: newTable(nil)}}
		l.press("p")
		begun := time.Now()
		time.AfterFunc(time.Minute, func() { l.press("p") })
		s.wait(t.Context(), begun)
		if took := time.Since(begun); took < time.Minute || took > 2*time.Minute {
			t.Errorf("the search went on after %v, want a minute", took)
		}
	})
}
