package measure

import (
	"math"
	"testing"
)

func TestSpreadOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values []float64
		want   Spread
	}{
		"one":            {[]float64{7}, Spread{7, 7, 7}},
		"two":            {[]float64{3, 1}, Spread{2, 1.5, 2.5}},
		"five":           {[]float64{5, 1, 4, 2, 3}, Spread{3, 2, 4}},
		"one far away":   {[]float64{1, 2, 3, 4, 1000}, Spread{3, 2, 4}},
		"between values": {[]float64{1, 2, 3, 4}, Spread{2.5, 1.75, 3.25}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := SpreadOf(test.values); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if got := SpreadOf(nil); !math.IsNaN(got.Median) {
		t.Errorf("nothing: got %v, want no number", got)
	}
}

func TestSpreadLeavesValues(t *testing.T) {
	t.Parallel()
	values := []float64{3, 1, 2}
	if SpreadOf(values); values[0] != 3 || values[1] != 1 {
		t.Errorf("got %v, want them as they were", values)
	}
}

// A ratio is taken round by round: what slows down both sides of a round does not change it.
func TestRatio(t *testing.T) {
	t.Parallel()
	var of, by Result
	for _, slow := range []int{1, 10, 100} {
		of.Blocks = append(of.Blocks, Usage{Ops: 1, Commands: 3 * slow})
		by.Blocks = append(by.Blocks, Usage{Ops: 2, Commands: 2 * slow})
	}
	if got := Ratio(of, by, Commands); got != Exactly(3) {
		t.Errorf("got %v, want 3", got)
	}
}
