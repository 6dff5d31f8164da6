//go:build proof

package plot

import (
	"math"
	"slices"
	"testing"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ want, placed []float64 }{
		"far apart":             {[]float64{80, 20, 50}, []float64{80, 20, 50}},
		"just far enough":       {[]float64{40, 50, 60}, []float64{40, 50, 60}},
		"two at one place":      {[]float64{50, 50}, []float64{45, 55}},
		"two too close":         {[]float64{52, 48}, []float64{55, 45}},
		"three too close":       {[]float64{50, 50, 50}, []float64{40, 50, 60}},
		"one pushes the others": {[]float64{40, 48, 49}, []float64{35 + 2./3, 45 + 2./3, 55 + 2./3}},
		"two of three":          {[]float64{10, 60, 61}, []float64{10, 55.5, 65.5}},
		"two pairs":             {[]float64{20, 20, 70, 70}, []float64{15, 25, 65, 75}},
		"at the top":            {[]float64{-5, 1}, []float64{0, 10}},
		"at the bottom":         {[]float64{120, 99, 98}, []float64{100, 90, 80}},
		"pushed from the top":   {[]float64{0, 2, 13}, []float64{0, 10, 20}},
		"nothing":               {[]float64{}, []float64{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := spread(test.want, 10, 0, 100)
			if !slices.EqualFunc(got, test.placed, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
				t.Errorf("got %v, want %v", got, test.placed)
			}
		})
	}
}

func TestThin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		at   []float64
		want []bool
	}{
		"far apart":              {[]float64{0, 10, 20}, []bool{true, true, true}},
		"one between":            {[]float64{0, 6, 12}, []bool{true, false, true}},
		"the last before others": {[]float64{0, 10, 17}, []bool{true, false, true}},
		"the last before all":    {[]float64{0, 3}, []bool{false, true}},
		"one":                    {[]float64{5}, []bool{true}},
		"none":                   {nil, []bool{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := thin(test.at, 10); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}
