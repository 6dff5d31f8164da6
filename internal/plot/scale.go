package plot

import (
	"math"
	"slices"
	"strconv"
)

// A scale puts the values from least to most on a line from start to end, by their logarithms.
type scale struct{ least, most, start, end float64 }

// at returns the coordinate of a value.
func (s scale) at(value float64) float64 {
	if s.least == s.most {
		return (s.start + s.end) / 2
	}
	return s.start + (s.end-s.start)*math.Log(value/s.least)/math.Log(s.most/s.least)
}

// domain returns round numbers below and above all values, with some air between: a line along the frame would look
// like a part of it.
func domain(values []float64) (least, most float64) {
	low, high := slices.Min(values)/1.15, slices.Max(values)*1.15
	steps := multiples(low/10, high*10, 1, 2, 3, 5, 7)
	above := slices.IndexFunc(steps, func(v float64) bool { return v >= high })
	below := slices.IndexFunc(steps, func(v float64) bool { return v > low }) - 1
	return steps[below], steps[above]
}

// ticks returns the powers of ten in a domain. If it has fewer than two, their doubles and
// fivefolds join them.
func ticks(least, most float64) []float64 {
	if tens := multiples(least, most, 1); len(tens) > 1 {
		return tens
	}
	return multiples(least, most, 1, 2, 5)
}

// minorTicks returns all numbers with one digit that is not zero. They narrow, which shows that the axis is
// logarithmic.
func minorTicks(least, most float64) []float64 {
	return multiples(least, most, 1, 2, 3, 4, 5, 6, 7, 8, 9)
}

// multiples returns the multiples of powers of ten from least to most, in ascending order.
func multiples(least, most float64, of ...float64) []float64 {
	var values []float64
	for exp := int(math.Floor(math.Log10(least))) - 1; math.Pow10(exp) <= most; exp++ {
		for _, m := range of {
			// 3e-1 is nearer to three tenths than 3*1e-1.
			value, _ := strconv.ParseFloat(Number(m)+"e"+strconv.Itoa(exp), 64)
			if least <= value && value <= most {
				values = append(values, value)
			}
		}
	}
	return values
}

// Number writes a value without an exponent.
func Number(value float64) string {
	return strconv.FormatFloat(value, 'f', -1, 64)
}

// Microseconds writes a time in the unit in which it has up to three digits before the point.
func Microseconds(value float64) string {
	switch {
	case value < 1e3:
		return Number(value) + "\u00a0µs"
	case value < 1e6:
		return Number(value/1e3) + "\u00a0ms"
	default:
		return Number(value/1e6) + "\u00a0s"
	}
}

// rounded keeps two digits, which is more than a benchmark repeats.
func rounded(value float64) float64 {
	value, _ = strconv.ParseFloat(strconv.FormatFloat(value, 'e', 1, 64), 64)
	return value
}
