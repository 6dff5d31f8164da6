package main

import (
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/peers"
	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/rows"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
	"github.com/seed-14de3678/redislock/proof/internal/page"
)

// parts is what the page shows: the most asked figures, on what it was made, which limits do not hold, how long large sets keep
// the server busy, figures of some rows, and what follows from them for one Redis.
func (c comparison) parts() []page.Part {
	parts := []page.Part{
		{Name: "short", Text: c.short().markdown()},
		{Name: "machine", Text: "Made by `make compare`: " + c.madeOn() + ".\n"},
		{Name: "limits", Text: c.limits()},
		{Name: "large", Text: c.large().markdown()},
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
		})
	}
	if row, measured := c.row("polling"); measured {
		turns := func(callers int) float64 { return row.Find(peers.NameInLine, callers, measure.PerSecond.Name).Median }
		t = append(t, []string{
			"64 callers in line for one key: turns a second, by those of one caller alone", measure.Times.Format(turns(64) / turns(1)),
		})
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
	"alone":   {measure.Network.Name},
	"refused": {measure.Network.Name},
	"polling": {measure.Commands.Name, measure.ServerCPU.Name, measure.ClientCPU.Name, measure.PerCPU.Name},
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

// limits says how many limits hold, and has a line for each that does not, with the size at which it is the furthest beyond it.
func (c comparison) limits() string {
	t, count := table{{"", "has to be", "worst figure", "at"}}, page.Count{}
	for _, row := range c.Rows {
		for _, what := range whats(row) {
			count.All++
			switch worst, verdict := worstOf(row.Claims, what); {
			case verdict.Open != "":
				count.Open++
			case !verdict.Holds:
				count.Broken++
				t = append(t, []string{row.Title + ": " + what, has(worst), worst.Unit.Format(worst.Value.Median), size(row, worst)})
			}
		}
	}
	return count.Text("limits", t.markdown())
}

// large has how long each operation on a large set keeps the server from everybody else, with the size at which that is longest.
func (c comparison) large() table {
	t := table{{"one operation on a large set", "keeps the server for", "keys"}}
	if row, measured := c.row("large"); measured {
		for _, what := range whats(row) {
			worst, _ := worstOf(row.Claims, what)
			t = append(t, []string{what, worst.Unit.Format(worst.Value.Median), groupedInt(worst.At)})
		}
	}
	return t
}

// whats are the things of a row that have a limit.
func whats(row rows.Measured) []string {
	return distinct(row.Claims, func(c rows.Claim) string { return c.What })
}

// size is where a claim of a row was measured. It is empty if nothing grows.
func size(row rows.Measured, c rows.Claim) string {
	if c.At == 0 {
		return ""
	}
	return strings.TrimSpace(groupedInt(c.At) + " " + row.Grows)
}

// worstOf returns, of the claims about one thing, the one that is nearest to its limit, and the verdict on all of them.
func worstOf(claims []rows.Claim, what string) (worst rows.Claim, all measure.Verdict) {
	most := -1.
	all.Holds = true
	for _, c := range claims {
		if c.What != what {
			continue
		}
		if used := c.Used(); used > most {
			most, worst = used, c
		}
		switch {
		case c.Verdict.Open != "":
			all.Open = c.Verdict.Open
		case !c.Verdict.Holds:
			all.Holds = false
		}
	}
	if !all.Holds {
		all.Open = "" // nothing is open of what is broken somewhere
	}
	return worst, all
}
