package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-14de3678/redislock/internal/plot"
	"github.com/seed-14de3678/redislock/proof/benchmarks/internal/rows"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// A picture is a chart that shows figures of rows.
type picture struct {
	file, title string
	panels      []view
}

// A view is a panel: one metric of a row.
type view struct {
	row, metric  string
	title, about string
}

const polled = "all callers want one key, hold 0"

var pictures = []picture{
	{"waiting.svg", "Round trips per acquisition and hand-off time against the number of waiters", []view{
		{row: "ways", metric: measure.Calls.Name, title: "Round trips per acquisition", about: "of Obtain and Release together"},
		{row: "ways", metric: rows.HandOff, title: "Hand-off time", about: "from Release until the next Obtain returns"},
	}},
	{"polling.svg", "Callers of one process that want one key, by library", []view{
		{row: "polling", metric: measure.Commands.Name, title: "Server commands an acquisition", about: polled},
		{row: "polling", metric: measure.ServerCPU.Name, title: "Server CPU an acquisition", about: polled},
	}},
}

// looks are how the sides look that are in charts.
var looks = map[string]plot.Look{
	"in line":   plot.Green,
	"redislock": plot.Blue, "bsm/redislock": plot.Orange, "redsync": plot.Purple, "rueidislock": plot.Pink,
	"go-redis": plot.Brown, "linear": plot.Orange, "exponential": plot.Green, "queue": plot.Blue,
}

// drawAll draws the charts of which all rows were measured.
func drawAll(all comparison, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, p := range pictures {
		chart, complete := p.chart(all)
		if !complete {
			continue
		}
		drawing, err := plot.Draw(chart)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, p.file), drawing, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// chart takes the figures; not complete if a row of it was not measured.
func (p picture) chart(all comparison) (chart plot.Chart, complete bool) {
	chart.Title = p.title
	for _, v := range p.panels {
		row, measured := all.row(v.row)
		if !measured {
			return plot.Chart{}, false
		}
		chart.Panels = append(chart.Panels, v.panel(row))
	}
	return chart, true
}

func (v view) panel(row rows.Measured) plot.Panel {
	panel := plot.Panel{Title: v.title, About: v.about, Axis: row.Grows, Format: plot.Number}
	for _, by := range distinct(row.Figures, func(f rows.Figure) string { return f.By }) {
		line := plot.Line{Name: strings.TrimSuffix(by, "/redislock"), Look: looks[by]}
		for _, f := range row.Figures {
			if f.By == by && f.Metric == v.metric && f.At > 0 { // there is no 0 on a logarithmic axis
				line.Points = append(line.Points, plot.Point{
					At: float64(f.At), Value: f.Value.Median, Low: f.Value.Low, High: f.Value.High,
				})
			}
			if f.Unit == measure.Micros && f.Metric == v.metric {
				panel.Format = plot.Microseconds
			}
		}
		panel.Lines = append(panel.Lines, line)
	}
	// What the chart is about is on top.
	slices.SortStableFunc(panel.Lines, func(a, b plot.Line) int { return rank(a) - rank(b) })
	return panel
}

func rank(l plot.Line) int {
	if l.Look == plot.Blue {
		return 1
	}
	return 0
}
