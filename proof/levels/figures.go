package main

import (
	"cmp"
	"slices"
	"time"

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

// The names of the metrics that limits are not about. The one of commands counts what the server executes, in scripts and beside them.
const (
	allocations = "allocations"
	bytes       = "bytes"
	commands    = "commands"
	allocated   = "bytes allocated"
)

// metrics are all of them.
var metrics = []metric{
	{string(course.Server), " µs", false, func(u course.Usage) float64 { return micros(u.Server) }},
	{string(course.Client), " µs", false, func(u course.Usage) float64 { return micros(u.Client) }},
	{allocations, "", true, func(u course.Usage) float64 { return float64(u.Allocs) }},
	{bytes, "", true, func(u course.Usage) float64 { return float64(u.Bytes) }},
	{commands, "", true, func(u course.Usage) float64 { return float64(u.Commands) }},
	{allocated, "", true, func(u course.Usage) float64 { return float64(u.Heap) }},
	{string(course.Both), " µs", false, func(u course.Usage) float64 { return micros(u.Server + u.Client) }},
	{string(course.Time), " µs", false, func(u course.Usage) float64 { return micros(u.Wall) }},
}

// judgedAt are the metrics that are judged beside before, by the place of a kind. How many callers share a command on all
// processors depends on the machine, so that nothing can be counted there, and time depends on it most.
var judgedAt = map[course.Place][]string{
	course.One:    {string(course.Server), string(course.Client), allocations, bytes, commands},
	course.Memory: {string(course.Client), allocations, allocated},
	course.Many:   {string(course.Both)},
}

// metricOf finds a metric by its name.
func metricOf[N ~string](name N) int {
	return slices.IndexFunc(metrics, func(m metric) bool { return m.name == string(name) })
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

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
