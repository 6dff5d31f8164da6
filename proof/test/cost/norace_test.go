//go:build !race

package cost_test

const moreOfRace = 0
