package main

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/rows"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// example is a comparison in which every row has something.
func example() comparison {
	c := comparison{Server: "7.0.15", Go: "1.26", Processors: 2, Load: "0.1"}
	for _, row := range rows.All {
		m := rows.Measured{Name: row.Name, Title: row.Title, About: row.About, Grows: row.Grows}
		at := []int{0}
		if row.Grows != "" {
			at = []int{1, 64}
		}
		metrics := []string{measure.Commands.Name, measure.ServerCPU.Name}
		if row.Name == "ways" {
			metrics = []string{measure.Calls.Name, rows.HandOff}
		}
		for _, by := range []string{"redislock", "same set"} {
			for _, at := range at {
				for _, metric := range metrics {
					m.Figures = append(m.Figures, rows.Figure{
						By: by, At: at, Metric: metric, Value: measure.Spread{Median: float64(10 + at), Low: 9, High: 100},
					})
				}
			}
		}
		c.Rows = append(c.Rows, m)
	}
	return c
}

func TestFigures(t *testing.T) {
	t.Parallel()
	all := example()
	sets, _ := all.row("sets")
	var got strings.Builder
	for _, table := range figures(sets, medianOnly) {
		got.WriteString(table.markdown())
	}
	const want = `| server commands, by keys | 1 | 64 |
|---|---|---|
| redislock | 11 | 74 |
| same set | 11 | 74 |
| server CPU, by keys | 1 | 64 |
|---|---|---|
| redislock | 11 | 74 |
| same set | 11 | 74 |
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	alone, _ := all.row("alone")
	if tables := figures(alone, withSpread); len(tables) != 1 || tables[0][1][1] != "10 (9 to 100)" {
		t.Errorf("got %v, want one table with spreads", tables)
	}
}

// Of the sizes that have a limit each, the page shows the one that is worst, if the limit does not hold somewhere.
func TestLimits(t *testing.T) {
	t.Parallel()
	claim := func(at int, value float64, v measure.Verdict) rows.Claim {
		return rows.Claim{What: "commands", At: at, Value: measure.Exactly(value), Limit: measure.Limit{Value: 10}, Verdict: v}
	}
	broken := func(at string) string {
		return "Of 2 limits 1 hold. These do not hold:\n\n" +
			"|  | has to be | worst figure | at |\n|---|---|---|---|\n| Sets: commands | at most 10 | " + at + " |\n"
	}
	holds, breaks, open := measure.Verdict{Holds: true}, measure.Verdict{}, measure.Verdict{Open: "busy"}
	for name, test := range map[string]struct {
		claims []rows.Claim
		want   string
	}{
		"all hold":         {[]rows.Claim{claim(1, 5, holds), claim(4, 9, holds), claim(64, 7, holds)}, "All of 2 limits hold.\n"},
		"one does not":     {[]rows.Claim{claim(1, 5, holds), claim(4, 12, breaks), claim(64, 9, open)}, broken("12 | 4 keys")},
		"nobody knows one": {[]rows.Claim{claim(1, 5, holds), claim(10000, 9, open)}, "Of 2 limits 1 hold, and of 1 there is no conclusion.\n"},
		"no size":          {[]rows.Claim{claim(0, 15, breaks)}, broken("15 | ")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := comparison{Rows: []rows.Measured{
				{Title: "Sets", Grows: "keys", Claims: test.claims},
				{Title: "Crowds", Claims: []rows.Claim{claim(0, 3, holds)}},
			}}
			if got := c.limits(); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Of large sets the page shows how long each operation is at most.
func TestLarge(t *testing.T) {
	t.Parallel()
	claim := func(what string, at int, ms float64) rows.Claim {
		return rows.Claim{What: what, At: at, Value: measure.Exactly(ms * 1000), Unit: measure.Micros, Limit: measure.Limit{Value: 50000}}
	}
	c := comparison{Rows: []rows.Measured{{
		Name: "large", Grows: "keys", Claims: []rows.Claim{claim("obtain", 2500, 4), claim("obtain", 10000, 13), claim("release", 10000, 9)},
	}}}
	const want = "| one operation on a large set | keeps the server for | keys |\n|---|---|---|\n" +
		"| obtain | 13 ms | 10 000 |\n| release | 9 ms | 10 000 |\n"
	if got := c.large().markdown(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	figures := func(name, metric string, unit measure.Unit, values map[string]float64, at ...int) rows.Measured {
		m := rows.Measured{Name: name}
		for by, value := range values {
			for _, n := range at {
				m.Figures = append(m.Figures, rows.Figure{By: by, At: n, Metric: metric, Unit: unit, Value: measure.Exactly(value - float64(n))})
			}
		}
		return m
	}
	alone := figures("alone", "time", measure.Micros, map[string]float64{"redislock": 150, "go-redis": 200}, 0)
	c := comparison{Rows: []rows.Measured{
		alone,
		figures("polling", "a second", measure.PerSec, map[string]float64{"in line": 101, "redislock": 70}, 1, 8, 64),
		figures("idle", "calls of scripts a second", measure.PerSec, map[string]float64{rows.IdleSide: 4}, 0),
	}}
	var got []string
	for _, line := range c.short()[1:] {
		got = append(got, line[1])
	}
	if want := "0.75 ×|0.37 ×|4"; strings.Join(got, "|") != want {
		t.Errorf("got %q, want %s", got, want)
	}
}

func TestScale(t *testing.T) {
	t.Parallel()
	c := comparison{Rows: []rows.Measured{
		{Name: "alone", Figures: []rows.Figure{{By: "redislock", Metric: "server CPU", Value: measure.Exactly(14.9)}, {By: "redislock", Metric: "network", Value: measure.Exactly(346)}}},
		{Name: "watched", Figures: []rows.Figure{{By: rows.WatchedSide, Metric: "server CPU", Value: measure.Exactly(5)}, {By: rows.WatchedSide, Metric: "network", Value: measure.Exactly(9)}}},
	}}
	got := c.scale()
	if len(got) != 3 {
		t.Fatalf("got %v, want what was measured alone", got)
	}
	for i, want := range []string{
		"15 µs|346 bytes|34 000/s",
		"5 µs|9 bytes|1 000 000",
	} {
		if line := strings.Join(got[1+i][1:], "|"); line != want {
			t.Errorf("got %s, want %s", line, want)
		}
	}
}

func TestCharts(t *testing.T) {
	t.Parallel()
	all := example()
	for _, p := range pictures {
		chart, complete := p.chart(all)
		if !complete || len(chart.Panels) != len(p.panels) {
			t.Errorf("%s: got %v, want all panels", p.file, chart)
		}
		for _, panel := range chart.Panels {
			if last := panel.Lines[len(panel.Lines)-1]; rank(last) == 0 || last.Points[len(last.Points)-1].At != 64 {
				t.Errorf("%s: got %v on top, want what it is about", p.file, last)
			}
		}
	}
	all.Rows = all.Rows[:1]
	if _, complete := pictures[0].chart(all); complete {
		t.Error("got a chart of which a row was not measured")
	}
}
