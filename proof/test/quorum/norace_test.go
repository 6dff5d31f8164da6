//go:build !race

package quorum_test

const moreOfRace = 0
