package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-14de3678/redislock/proof/internal/page"
	"github.com/seed-14de3678/redislock/proof/levels/course"
)

// mostAbove is how much a figure of the tree may be, by that of before.
const mostAbove = 1.10

// muchLess is how little server CPU an operation has to cost, by that of before, for its commands not to matter: they are counted
// for the time that they take, and two of little work may replace one of much.
const muchLess = 0.90

// A result is what was measured of a kind, by version.
type result struct {
	kind   course.Kind
	blocks map[string][]course.Usage
}

// A line is what a report says of a kind.
type line struct {
	kind   course.Kind
	before []comparison // of the tree, for each metric
	limits []comparison // for each limit of the kind, beside what it refers to
}

// lineOf compares the versions of a result. all has those that its limits refer to.
func lineOf(r result, all []result) line {
	l := line{kind: r.kind}
	own := r.blocks[tree.name]
	for _, m := range metrics {
		l.before = append(l.before, compare(m, own, r.blocks[before.name]))
	}
	for _, limit := range r.kind.Limits {
		by := r.blocks[old.name]
		if limit.Beside != course.Old {
			by = nil
			if i := slices.IndexFunc(all, func(other result) bool { return other.kind.Is == limit.Beside }); i >= 0 {
				by = all[i].blocks[tree.name]
			}
		}
		l.limits = append(l.limits, compare(metrics[metricOf(limit.Of)], own, by))
	}
	return l
}

// linesOf are those of all kinds but the least script, which is the same in every version.
func linesOf(results []result) (lines []line) {
	for _, r := range results {
		if r.kind.Act != course.Least {
			lines = append(lines, lineOf(r, results))
		}
	}
	return lines
}

// isJudged reports whether a metric has a limit beside before.
func (l line) isJudged(metric int) bool {
	return l.kind.IsOurs() && slices.Contains(judgedAt[l.kind.Place], metrics[metric].name)
}

// judge says of one metric whether it is within its limit beside before.
func (l line) judge(metric int) verdict {
	v := judge(l.before[metric].ratio, mostAbove)
	if v == fails && metrics[metric].name == commands && judge(l.before[metricOf(course.Server)].ratio, muchLess) == holds {
		return holds
	}
	return v
}

// named returns the metrics whose verdict, beside before, is this one. With ratios it says what they are.
func (l line) named(v verdict, ratios bool) (names []string) {
	for i, m := range metrics {
		if l.isJudged(i) && l.judge(i) == v {
			name, ratio := m.name, l.before[i].ratio
			if ratios {
				name += fmt.Sprintf(" %s × (%s to %s)", times(ratio.Median), times(ratio.Low), times(ratio.High))
			}
			names = append(names, name)
		}
	}
	return names
}

// verdict sums up those of all metrics. It is empty where versions of the library cannot differ.
func (l line) verdict() string {
	if !l.kind.IsOurs() {
		return ""
	}
	for _, v := range []verdict{fails, unknown} {
		if names := l.named(v, false); len(names) > 0 {
			return string(v) + ": " + strings.Join(names, ", ")
		}
	}
	return string(holds)
}

// failures says of each kind which figures are above the limit that fails.
func failures(lines []line) (texts []string) {
	for _, l := range lines {
		if names := l.named(fails, true); len(names) > 0 {
			texts = append(texts, l.kind.Name+": "+strings.Join(names, ", "))
		}
	}
	return texts
}

// places are those of the kinds, in the order of the page.
var places = []course.Place{course.One, course.Memory, course.Many}

// at are the lines of one place.
func at(lines []line, place course.Place) (chosen []line) {
	for _, l := range lines {
		if l.kind.Place == place {
			chosen = append(chosen, l)
		}
	}
	return chosen
}

// tables writes a table of the lines of each place that has some. What others do is not shown: it stands in what the limits say.
func tables(lines []line) string {
	var texts []string
	for _, place := range places {
		chosen := slices.DeleteFunc(at(lines, place), func(l line) bool { return !l.kind.IsOurs() })
		if len(chosen) > 0 {
			texts = append(texts, table(chosen))
		}
	}
	return strings.Join(texts, "\n")
}

// table has the main figure of kinds of one place.
func table(lines []line) string {
	var text strings.Builder
	first := lines[0].kind.Main()
	fmt.Fprintf(&text, "| %s of | tree | ÷ before |\n|---|---|---|\n", first)
	m := metricOf(first)
	for _, l := range lines {
		fmt.Fprintf(&text, "| %s | %s | %s |\n", l.kind.Name, written(l.before[m].value)+metrics[m].unit, times(l.before[m].ratio.Median))
	}
	return text.String()
}

// aims says how many limits of the kinds hold, and has those that do not.
func aims(lines []line) string {
	text, count := "|  | has to be | is |\n|---|---|---|\n", page.Count{}
	for _, l := range lines {
		for i, limit := range l.kind.Limits {
			count.All++
			ratio := l.limits[i].ratio
			switch judge(ratio, limit.Most) {
			case unknown:
				count.Open++
			case fails:
				count.Broken++
				text += fmt.Sprintf("| %s: %s ÷ %s | at most %.2f | %s |\n", l.kind.Name, limit.Of, limit.Beside, limit.Most, times(ratio.Median))
			}
		}
	}
	return count.Text("aims", text)
}

// besideBefore says which kinds do not hold beside before.
func besideBefore(lines []line) string {
	var but []string
	for _, l := range lines {
		if v := l.verdict(); v != "" && v != string(holds) {
			but = append(but, l.kind.Name+": "+v)
		}
	}
	if but == nil {
		return "In this run every figure is within that limit.\n"
	}
	return "In this run every figure is within that limit but these: " + strings.Join(but, "; ") + ".\n"
}

func times(ratio float64) string {
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return "?"
	}
	return strconv.FormatFloat(ratio, 'f', 2, 64)
}

// written has a figure to a tenth if that is less than one in a hundred of it.
func written(value float64) string {
	if math.IsNaN(value) {
		return "?"
	}
	if value >= 100 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strings.TrimSuffix(strconv.FormatFloat(value, 'f', 1, 64), ".0")
}
