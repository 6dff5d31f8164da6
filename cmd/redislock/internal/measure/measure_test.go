package measure

import (
	"math"
	"testing"
)

func TestFairness(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		shares []int
		want   float64
	}{
		{nil, 0},
		{[]int{0, 0}, 0},
		{[]int{5, 5, 5, 5}, 1},
		{[]int{8, 0, 0, 0}, 0.25},
		{[]int{3, 1}, 0.8},
	} {
		if got := Fairness(tt.shares); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("fairness of %v is %v, want %v", tt.shares, got, tt.want)
		}
	}
}
