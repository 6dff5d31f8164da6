package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/peers"
	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/rows"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
	"github.com/seed-14de3678/redislock/proof/internal/page"
)

// parts is what the page shows: the most asked figures, on what it was made, what has a limit, figures of some rows, and
// what follows from them for one Redis and for many.
func (c comparison) parts() []page.Part {
	parts := []page.Part{
		{Name: "short", Text: c.short().markdown()},
		{Name: "machine", Text: "Made by `make compare`: " + c.madeOn() + ".\n"},
		{Name: "limits", Text: c.limits().markdown()},
	}
	for _, name := range []string{"alone", "polling", "refused", "quorum", "memory"} {
		if row, measured := c.row(name); measured {
			parts = append(parts, page.Part{Name: name, Text: tablesOf(row, notShown[name]...)})
		}
	}
	return append(parts, page.Part{Name: "scale", Text: c.scale().markdown()})
}

// short are the figures that are asked for most. What was not measured is left out.
func (c comparison) short() table {
	t := table{{"", "figure"}}
	if row, measured := c.row("alone"); measured {
		of := func(by string, m measure.Metric) float64 { return row.Find(by, 0, m.Name).Median }
		t = append(t, []string{
			"obtain and release of a free key: time, by that of `SET NX PX` and a script, written with go-redis",
			measure.Times.Format(of(peers.NameOurs, measure.Time) / of(peers.NameRaw, measure.Time)),
		}, []string{
			"the same: allocations, and those with go-redis",
			measure.Count.Format(of(peers.NameOurs, measure.Allocs)) + ", " + measure.Count.Format(of(peers.NameRaw, measure.Allocs)),
		})
	}
	if row, measured := c.row("polling"); measured {
		turns := func(callers int) float64 { return row.Find(peers.NameInLine, callers, measure.PerSecond.Name).Median }
		for _, n := range []int{8, 64} {
			t = append(t, []string{
				fmt.Sprintf("%d callers in line for one key: turns a second, by those of one caller alone", n),
				measure.Times.Format(turns(n) / turns(1)),
			})
		}
	}
	if row, measured := c.row("idle"); measured {
		t = append(t, []string{
			groupedInt(rows.IdleWaiters) + " waiters while nothing moves: calls of scripts a second",
			measure.PerSec.Format(row.Find(rows.IdleSide, 0, measure.CallsPerSecond.Name).Median),
		})
	}
	return t
}

// notShown are metrics that the page leaves out, because a chart has them or they say little.
var notShown = map[string][]string{
	"polling": {measure.Commands.Name, measure.ServerCPU.Name, measure.PerCPU.Name},
}

// tablesOf are the figures of a row, without their spread.
func tablesOf(row rows.Measured, without ...string) string {
	row.Figures = slices.DeleteFunc(slices.Clone(row.Figures), func(f rows.Figure) bool {
		return slices.Contains(without, f.Metric)
	})
	var text []string
	for _, t := range figures(row, medianOnly) {
		text = append(text, t.markdown())
	}
	return strings.Join(text, "\n")
}

// limits has a line for each thing that has a limit, with the size at which it comes nearest to the
// limit, or is the furthest beyond it.
func (c comparison) limits() table {
	t := table{{"", "has to be", "worst figure", "at", "verdict"}}
	for _, row := range c.Rows {
		for _, what := range distinct(row.Claims, func(c rows.Claim) string { return c.What }) {
			worst, verdict := worstOf(row.Claims, what)
			at := ""
			if worst.At > 0 {
				at = strings.TrimSpace(groupedInt(worst.At) + " " + row.Grows)
			}
			t = append(t, []string{
				row.Title + ": " + what, has(worst),
				withSpread(rows.Figure{Unit: worst.Unit, Value: worst.Value}), at, verdict,
			})
		}
	}
	return t
}

// worstOf returns, of the claims about one thing, the one that is nearest to its limit, and the
// verdict on all of them.
func worstOf(claims []rows.Claim, what string) (worst rows.Claim, verdict string) {
	most := -1.
	holds, breaks := true, false
	var open string
	for _, c := range claims {
		if c.What != what {
			continue
		}
		if used := c.Used(); used > most {
			most, worst = used, c
		}
		switch {
		case c.Verdict.Open != "":
			holds, open = false, c.Verdict.String()
		case !c.Verdict.Holds:
			holds, breaks = false, true
		}
	}
	switch {
	case breaks:
		return worst, "does not hold"
	case holds:
		return worst, "holds"
	default:
		return worst, open
	}
}
