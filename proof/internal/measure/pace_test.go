package measure

import (
	"testing"
	"time"
)

func TestSlowness(t *testing.T) {
	if got := note(pace()); got <= 0 || best.Load() <= 0 {
		t.Errorf("got a pace of %s, the best %d, want some", got, best.Load())
	}
	best.Store(0)
	for _, now := range []time.Duration{30, 20, 40} {
		note(now)
	}
	results := []Result{{Blocks: []Usage{{Pace: 20}, {Pace: 50}}}, {Blocks: []Usage{{Pace: 50}}}}
	if got := Slowness(results); got != 2.5 {
		t.Errorf("got %v times the best, want 2.5", got)
	}
}
