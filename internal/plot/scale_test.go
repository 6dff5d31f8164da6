//go:build proof

package plot

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestScale(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		scale       scale
		value, want float64
	}{
		{scale{1, 100, 0, 200}, 1, 0},
		{scale{1, 100, 0, 200}, 10, 100},
		{scale{1, 100, 0, 200}, 100, 200},
		{scale{2, 256, 10, 80}, 8, 30},
		{scale{1, 100, 200, 0}, 10, 100}, // upwards
		{scale{1, 1000, 300, 0}, 10, 200},
		{scale{8, 8, 10, 30}, 8, 20}, // one number of waiters
	} {
		if got := test.scale.at(test.value); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%v at %v: got %v, want %v", test.scale, test.value, got, test.want)
		}
	}
}

func TestDomain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values      []float64
		least, most float64
	}{
		{[]float64{90, 2, 10}, 1, 200},
		{[]float64{75, 20000}, 50, 30000},
		{[]float64{1, 10}, 0.7, 20}, // air on both sides
		{[]float64{2}, 1, 3},
		{[]float64{0.004}, 0.003, 0.005},
	} {
		if least, most := domain(test.values); least != test.least || most != test.most {
			t.Errorf("%v: got %v to %v, want %v to %v", test.values, least, most, test.least, test.most)
		}
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		least, most float64
		want        []float64
	}{
		{1, 200, []float64{1, 10, 100}},
		{50, 30000, []float64{100, 1000, 10000}},
		{0.1, 1, []float64{0.1, 1}},
		{1, 7, []float64{1, 2, 5}},
		{20, 70, []float64{20, 50}},
		{0.03, 0.3, []float64{0.05, 0.1, 0.2}},
	} {
		if got := ticks(test.least, test.most); !slices.Equal(got, test.want) {
			t.Errorf("%v to %v: got %v, want %v", test.least, test.most, got, test.want)
		}
	}
	if got, want := minorTicks(0.2, 5), []float64{.2, .3, .4, .5, .6, .7, .8, .9, 1, 2, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("minor: got %v, want %v", got, want)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		value float64
		want  string
	}{
		{0.5, "0.5|0.5 µs"},
		{1, "1|1 µs"},
		{2.005, "2|2 µs"},
		{79.4, "79|79 µs"},
		{100, "100|100 µs"},
		{999.6, "1000|1 ms"},
		{4020, "4000|4 ms"},
		{15700, "16000|16 ms"},
		{1e6, "1000000|1 s"},
		{1.26e6, "1300000|1.3 s"},
	} {
		got := fmt.Sprintf("%s|%s", Number(rounded(test.value)), Microseconds(rounded(test.value)))
		want := []rune(test.want)
		want[slices.Index(want, ' ')] = '\u00a0' // the number and its unit stay in one line
		if got != string(want) {
			t.Errorf("%v: got %q, want %q", test.value, got, string(want))
		}
	}
}
