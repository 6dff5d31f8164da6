package main

import (
	"cmp"
	"slices"

	"github.com/seed-14de3678/redislock/proof/internal/measure"
	"github.com/seed-14de3678/redislock/proof/levels/course"
)

// A metric is one figure of an operation.
type metric struct {
	name    string
	unit    string
	counted bool // it does not depend on what else the machine does
	whole   func(course.Usage) float64
}

// commands is the name of the metric that counts what the server executes, in scripts and beside them.
const commands = "commands"

// metrics are all of them; the first has limits of its own.
var metrics = []metric{
	{"server CPU", " µs", false, func(u course.Usage) float64 { return float64(u.Server.Nanoseconds()) / 1e3 }},
	{"client CPU", " µs", false, func(u course.Usage) float64 { return float64(u.Client.Nanoseconds()) / 1e3 }},
	{"allocations", "", true, func(u course.Usage) float64 { return float64(u.Allocs) }},
	{"bytes", "", true, func(u course.Usage) float64 { return float64(u.Bytes) }},
	{commands, "", true, func(u course.Usage) float64 { return float64(u.Commands) }},
}

// of returns the figure for each block.
func (m metric) of(blocks []course.Usage) []float64 {
	values := make([]float64, len(blocks))
	for i, u := range blocks {
		values[i] = m.whole(u) / float64(u.Ops)
	}
	return values
}

// A spread is the median of some values, with their quartiles.
type spread struct {
	measure.Spread
	of int // so many values
}

func spreadOf(values []float64) spread { return spread{measure.SpreadOf(values), len(values)} }

// quietest returns the third of all rounds in which the machine disturbed least: a round is as loud as the louder one of its two
// blocks, and a block as loud as it is above the best of its side. One more is taken rather than one less.
func quietest(of, by []float64) []int {
	rounds := make([]int, min(len(of), len(by)))
	loudness := make([]float64, len(rounds))
	for i := range rounds {
		rounds[i] = i
		loudness[i] = max(of[i]/slices.Min(of), by[i]/slices.Min(by))
	}
	slices.SortStableFunc(rounds, func(a, b int) int { return cmp.Compare(loudness[a], loudness[b]) })
	return rounds[:(len(rounds)+2)/3]
}

// A comparison is a figure beside another one.
type comparison struct {
	value float64 // of the first
	ratio spread
}

// compare divides a figure of one side by that of another, round by round, because the two blocks of a round see about the same
// machine. Of what depends on the machine the quietest third of the rounds counts.
func compare(m metric, of, by []course.Usage) comparison {
	ofs, bys := m.of(of), m.of(by)
	var values, ratios []float64
	count := func(round int) {
		values = append(values, ofs[round])
		if ofs[round] == bys[round] {
			ratios = append(ratios, 1) // also where there is nothing
			return
		}
		ratios = append(ratios, ofs[round]/bys[round])
	}
	if m.counted {
		for round := range min(len(ofs), len(bys)) {
			count(round)
		}
	} else {
		for _, round := range quietest(ofs, bys) {
			count(round)
		}
	}
	return comparison{spreadOf(values).Median, spreadOf(ratios)}
}

// A verdict says whether a ratio is within its limit.
type verdict string

// The verdicts that there are.
const (
	holds   verdict = "holds"
	fails   verdict = "fails"
	unknown verdict = "no verdict"
)

// fewest is of how many rounds a ratio has to be for a verdict.
const fewest = 4

// judge compares a ratio with the most that it may be. It holds if it does at the worse quartile, and fails if it does at the
// better one; otherwise the spread hides what it is.
func judge(ratio spread, most float64) verdict {
	switch {
	case ratio.of < fewest:
		return unknown
	case ratio.High <= most:
		return holds
	case ratio.Low > most:
		return fails
	}
	return unknown
}
