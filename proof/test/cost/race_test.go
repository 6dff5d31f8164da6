//go:build race

package cost_test

// moreOfRace is how many allocations a cycle may have more under the race detector: a sync.Pool loses some of what it is
// given then.
const moreOfRace = 9
