package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

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
	old    []comparison
	script comparison // server CPU beside the least script, if the limit refers to it
}

// lineOf compares the versions of a result. script has the blocks of the least script.
func lineOf(r result, script []course.Usage) line {
	l := line{kind: r.kind}
	own := r.blocks[tree.name]
	for _, m := range metrics {
		l.before = append(l.before, compare(m, own, r.blocks[before.name]))
		l.old = append(l.old, compare(m, own, r.blocks[old.name]))
	}
	l.script = compare(metrics[0], own, script)
	return l
}

// linesOf are those of all kinds but the least script, which is the same in every version.
func linesOf(results []result) (lines []line) {
	var script []course.Usage
	for _, r := range results {
		if r.kind.Act == course.Least {
			script = r.blocks[tree.name]
		}
	}
	for _, r := range results {
		if r.kind.Act != course.Least {
			lines = append(lines, lineOf(r, script))
		}
	}
	return lines
}

// limit returns the ratio that has a limit of its own.
func (l line) limit() spread {
	if l.kind.Beside == course.Script {
		return l.script.ratio
	}
	return l.old[0].ratio
}

// judge says of one metric whether it is within its limit beside before.
func (l line) judge(metric int) verdict {
	v := judge(l.before[metric].ratio, mostAbove)
	if v == fails && metrics[metric].name == commands && judge(l.before[0].ratio, muchLess) == holds {
		return holds
	}
	return v
}

// named returns the metrics whose verdict, beside before, is this one. With ratios it says what they are.
func (l line) named(v verdict, ratios bool) (names []string) {
	for i, m := range metrics {
		if l.judge(i) == v {
			name, ratio := m.name, l.before[i].ratio
			if ratios {
				name += fmt.Sprintf(" %s × (%s to %s)", times(ratio.Median), times(ratio.Low), times(ratio.High))
			}
			names = append(names, name)
		}
	}
	return names
}

// verdict sums up those of all metrics.
func (l line) verdict() string {
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

// answers are how verdicts on limits are written of which none fails.
var answers = map[verdict]string{holds: "yes", fails: "no", unknown: "no verdict"}

// serverTable has the processor time of the server, with its limits.
func serverTable(lines []line) string {
	var text strings.Builder
	text.WriteString("| server CPU of | tree | ÷ before | ÷ old | has to be | is it | all figures beside before |\n|---|---|---|---|---|---|---|\n")
	for _, l := range lines {
		limit, kept := "", ""
		if l.kind.Most > 0 {
			limit = fmt.Sprintf("at most %.2f × %s", l.kind.Most, l.kind.Beside)
			kept = fmt.Sprintf("%s: %s", answers[judge(l.limit(), l.kind.Most)], times(l.limit().Median))
		}
		fmt.Fprintf(&text, "| %s | %s | %s | %s | %s | %s | %s |\n", l.kind.Name, written(l.before[0].value)+metrics[0].unit,
			ranged(l.before[0].ratio), ranged(l.old[0].ratio), limit, kept, l.verdict())
	}
	return text.String()
}

// otherTable has the other figures: that of the tree, then the ratios to before and to old.
func otherTable(lines []line) string {
	var text, rule strings.Builder
	text.WriteString("| tree, ÷ before, ÷ old |")
	rule.WriteString("|---|")
	for _, m := range metrics[1:] {
		text.WriteString(" " + m.name + " |")
		rule.WriteString("---|")
	}
	text.WriteString("\n" + rule.String() + "\n")
	for _, l := range lines {
		text.WriteString("| " + l.kind.Name + " |")
		for i, m := range metrics[1:] {
			of, beside := l.before[i+1], l.old[i+1]
			fmt.Fprintf(&text, " %s%s, %s, %s |", written(of.value), m.unit, times(of.ratio.Median), times(beside.ratio.Median))
		}
		text.WriteString("\n")
	}
	return text.String()
}

// ranged is a ratio with its quartiles, unless they are all the same.
func ranged(s spread) string {
	low, high := times(s.Low), times(s.High)
	if low == high {
		return low
	}
	return fmt.Sprintf("%s (%s to %s)", times(s.Median), low, high)
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
