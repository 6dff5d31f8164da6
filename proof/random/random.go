// Package random has what plans, campaigns and random histories draw from a generator.
package random

import "math/rand/v2"

// Between is a number, or a duration, from least to most.
func Between[T ~int | ~int64](rng *rand.Rand, least, most T) T {
	return least + T(rng.Int64N(int64(most-least)+1))
}

// Chance is true in so many of a hundred cases.
func Chance(rng *rand.Rand, percent int) bool { return rng.IntN(100) < percent }
