package main

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/proof/internal/measure"
	"github.com/seed-14de3678/redislock/proof/levels/course"
)

// spreadAs is a spread of so many values.
func spreadAs(low, median, high float64, of int) spread {
	return spread{measure.Spread{Low: low, Median: median, High: high}, of}
}

func TestSpreadOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values []float64
		want   spread
	}{
		"one":            {[]float64{7}, spreadAs(7, 7, 7, 1)},
		"two":            {[]float64{3, 1}, spreadAs(1.5, 2, 2.5, 2)},
		"five":           {[]float64{5, 1, 4, 2, 3}, spreadAs(2, 3, 4, 5)},
		"one far away":   {[]float64{1, 2, 3, 4, 1000}, spreadAs(2, 3, 4, 5)},
		"between values": {[]float64{1, 2, 3, 4}, spreadAs(1.75, 2.5, 3.25, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := spreadOf(test.values); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if got := spreadOf(nil); !math.IsNaN(got.Median) || got.of != 0 {
		t.Errorf("nothing: got %v, want no number", got)
	}
}

// A round counts if neither of its blocks was disturbed.
func TestQuietest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		of, by []float64
		want   []int
	}{
		"none":                {nil, nil, []int{}},
		"one":                 {[]float64{5}, []float64{9}, []int{0}},
		"the least":           {[]float64{13, 12, 10, 11, 14, 15}, []float64{1, 1, 1, 1, 1, 1}, []int{2, 3}},
		"the other is loud":   {[]float64{13, 12, 10, 11, 14, 15}, []float64{1, 1, 2, 1, 1, 1}, []int{3, 1}},
		"each by its own":     {[]float64{100, 200, 101}, []float64{2, 1, 1}, []int{2}},
		"one more of four":    {[]float64{4, 3, 2, 1}, []float64{1, 1, 1, 1}, []int{3, 2}},
		"a round that is cut": {[]float64{2, 2, 1}, []float64{1, 2}, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := quietest(test.of, test.by); !slices.Equal(got, test.want) {
				t.Errorf("got rounds %v, want %v", got, test.want)
			}
		})
	}
}

// What slows down both sides of a round changes no ratio, and what disturbs one of them does not count. A count has no quiet
// rounds: all of them are told.
func TestCompare(t *testing.T) {
	t.Parallel()
	var of, by []course.Usage
	for _, slow := range []time.Duration{10, 11, 12, 13, 14, 30, 10, 10, 10, 20, 20, 20} {
		of = append(of, course.Usage{Ops: 2, Server: 2 * 30 * slow * time.Microsecond, Commands: 6, Allocs: int(slow)})
		by = append(by, course.Usage{Ops: 1, Server: 20 * slow * time.Microsecond, Commands: 2, Allocs: int(slow)})
	}
	by[0].Server *= 7
	if got, want := compare(metrics[0], of, by), (comparison{300, spreadAs(1.5, 1.5, 1.5, 4)}); got != want {
		t.Errorf("server CPU: got %v, want %v", got, want)
	}
	if got, want := compare(metrics[4], of, by), (comparison{3, spreadAs(1.5, 1.5, 1.5, 12)}); got != want {
		t.Errorf("commands: got %v, want %v", got, want)
	}
	if got, want := compare(metrics[3], of, by), (comparison{0, spreadAs(1, 1, 1, 12)}); got != want {
		t.Errorf("no bytes: got %v, want %v", got, want)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ratio spread
		want  verdict
	}{
		"the same":          {spreadAs(.98, 1, 1.02, 8), holds},
		"at the limit":      {spreadAs(1.09, 1.1, 1.1, 8), holds},
		"less":              {spreadAs(.4, .5, .6, 8), holds},
		"more":              {spreadAs(1.2, 1.3, 1.4, 8), fails},
		"just more":         {spreadAs(1.11, 1.11, 1.11, 8), fails},
		"much more":         {spreadAs(1.2, 2, 4, 8), fails},
		"hidden":            {spreadAs(1, 1.2, 1.4, 8), unknown},
		"hidden the better": {spreadAs(.9, 1, 1.2, 8), unknown},
		"too few":           {spreadAs(1.2, 1.3, 1.4, 3), unknown},
		"not measured":      {spreadOf(nil), unknown},
		"no number":         {spreadAs(math.NaN(), math.NaN(), math.NaN(), 8), unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := judge(test.ratio, 1.1); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
