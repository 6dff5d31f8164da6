//go:build race

package quorum_test

// moreOfRace is how many allocations an operation may have more under the race detector: a sync.Pool loses some of what it
// is given then.
const moreOfRace = 20
