package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const benchmark = "BenchmarkWaiting"

// The units of what is drawn, as the benchmark reports them.
const (
	unitRoundTrips = "round-trips/turn"
	unitHandOff    = "hand-off-µs"
)

// ways are the values of by=, in the order in which they are drawn: the last one is on top.
var ways = []string{"linear", "exponential", "queue"}

// A series is what one way of waiting measured, in ascending order of waiters.
type series struct {
	by     string
	points []point
}

// A point is the median of all runs with one number of waiters.
type point struct {
	waiters int
	median  map[string]float64 // by unit
}

// parse reads the output of go test -bench. It returns one series for each of the ways, in their
// order, each with at least one point, and each point with both units.
func parse(in io.Reader) ([]series, error) {
	runs := runs{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20) // a benchmark may log what it likes
	for n := 1; lines.Scan(); n++ {
		if err := runs.add(lines.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(runs.of) == 0 {
		return nil, errors.New("no results of " + benchmark + " in the input")
	}
	return runs.series()
}

// runs collects every run before medians are taken.
type runs struct {
	of   map[string]map[int]map[string][]float64 // by way, waiters and unit
	rest string                                  // what else is in the name, the same in all of them
}

// result has the sub-benchmark, GOMAXPROCS, which is left out where it is 1, and the measurements.
var result = regexp.MustCompile(`^` + benchmark + `/(\S*?)(-\d+)?\s+\d+(\s.*)?$`)

// add takes one line. A line that is not a result of the benchmark is none of its business.
func (r *runs) add(line string) error {
	match := result.FindStringSubmatch(line)
	if match == nil {
		return nil
	}
	by, waiters, rest, err := coordinates(match[1])
	if err != nil {
		return err
	}
	rest += match[2]
	if r.of == nil {
		r.of, r.rest = map[string]map[int]map[string][]float64{}, rest
	}
	if rest != r.rest {
		// Their median would be of neither.
		return fmt.Errorf("results of different benchmarks: %q and %q", r.rest, rest)
	}
	measured, err := measurements(strings.Fields(match[3]))
	if err != nil {
		return fmt.Errorf("%s: %w", match[1], err)
	}
	if r.of[by] == nil {
		r.of[by] = map[int]map[string][]float64{}
	}
	if r.of[by][waiters] == nil {
		r.of[by][waiters] = map[string][]float64{}
	}
	for unit, value := range measured {
		r.of[by][waiters][unit] = append(r.of[by][waiters][unit], value)
	}
	return nil
}

// coordinates reads a name such as by=queue/waiters=64. The rest is the parts that are neither.
func coordinates(name string) (by string, waiters int, rest string, err error) {
	for part := range strings.SplitSeq(name, "/") {
		switch key, value, _ := strings.Cut(part, "="); key {
		case "by":
			by = value
		case "waiters":
			if waiters, err = strconv.Atoi(value); err != nil || waiters < 1 {
				return "", 0, "", fmt.Errorf("%s: waiters=%s is not a number of waiters", name, value)
			}
		default:
			rest += "/" + part
		}
	}
	switch {
	case waiters == 0:
		return "", 0, "", fmt.Errorf("%s: no waiters=", name)
	case !slices.Contains(ways, by):
		return "", 0, "", fmt.Errorf("%s: by= is none of %s", name, strings.Join(ways, ", "))
	}
	return by, waiters, rest, nil
}

// measurements reads pairs of value and unit, and returns those that are drawn: all of them.
func measurements(fields []string) (map[string]float64, error) {
	measured := map[string]float64{}
	for pair := range slices.Chunk(fields, 2) {
		value, err := strconv.ParseFloat(pair[0], 64)
		if err != nil || len(pair) < 2 {
			return nil, fmt.Errorf("%q is not a value and a unit", strings.Join(pair, " "))
		}
		// The micro sign and the Greek letter look alike, and keyboards have either.
		unit := strings.ReplaceAll(pair[1], "μ", "µ")
		if unit != unitRoundTrips && unit != unitHandOff {
			continue
		}
		if !(value > 0) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("%s %s has no place on a logarithmic axis", pair[0], unit)
		}
		measured[unit] = value
	}
	for _, unit := range []string{unitRoundTrips, unitHandOff} {
		if _, ok := measured[unit]; !ok {
			return nil, errors.New("no " + unit)
		}
	}
	return measured, nil
}

// series takes the medians.
func (r *runs) series() ([]series, error) {
	var all []series
	for _, by := range ways {
		if r.of[by] == nil {
			return nil, fmt.Errorf("no results of %s/by=%s", benchmark, by)
		}
		s := series{by: by}
		for waiters, units := range r.of[by] {
			p := point{waiters, map[string]float64{}}
			for unit, values := range units {
				p.median[unit] = median(values)
			}
			s.points = append(s.points, p)
		}
		slices.SortFunc(s.points, func(a, b point) int { return cmp.Compare(a.waiters, b.waiters) })
		all = append(all, s)
	}
	return all, nil
}

// median sorts the values, of which there is at least one.
func median(values []float64) float64 {
	slices.Sort(values)
	half := len(values) / 2
	if len(values)%2 == 1 {
		return values[half]
	}
	return (values[half-1] + values[half]) / 2
}
