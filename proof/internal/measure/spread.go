package measure

import (
	"math"
	"slices"
)

// A Spread is the median of some measurements with their quartiles: half of them are from Low to
// High.
type Spread struct{ Median, Low, High float64 }

// SpreadOf returns the spread of some values, which it leaves as they are.
func SpreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{Median: quantile(sorted, .5), Low: quantile(sorted, .25), High: quantile(sorted, .75)}
}

// Exactly is the spread of what is not spread.
func Exactly(value float64) Spread { return Spread{value, value, value} }

// quantile reads a quantile from values in ascending order; between two of them it lies on the line.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below == len(sorted)-1 {
		return sorted[below]
	}
	part := at - float64(below)
	return sorted[below]*(1-part) + sorted[below+1]*part
}

// Over divides a spread by a number.
func (s Spread) Over(by float64) Spread { return Spread{s.Median / by, s.Low / by, s.High / by} }

// width is how many times the lower quartile the upper one is.
func (s Spread) width() float64 {
	if s.Low == s.High {
		return 1
	}
	return s.High / s.Low
}
