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
	show         []float64                // what the axis reaches
	limit        func(at float64) float64 // nil if there is none
}

const polled = "all callers want one key, hold 0"

var pictures = []picture{
	{"waiting.svg", "Round trips per acquisition and hand-off time against the number of waiters", []view{
		{row: "ways", metric: measure.Calls.Name, title: "Round trips per acquisition", about: "of Obtain and Release together"},
		{row: "ways", metric: rows.HandOff, title: "Hand-off time", about: "from Release until the next Obtain returns"},
	}},
	{"crowds.svg", "Server CPU by the number of readers and of waiters", []view{
		{
			row: "readers", metric: measure.ServerCPU.Name,
			title: "One more reader", about: "server CPU: ObtainRead, Refresh, Release",
		},
		{
			row: "waiters", metric: measure.ServerCPU.Name,
			title: "A turn in one line", about: "server CPU: one leaves, one gets it, one enters",
			show: []float64{15, 600}, // so that flat looks flat
		},
	}},
	{"sets.svg", "What a turn costs by the keys of the set that others wait for", []view{
		{
			row: "sets", metric: measure.Commands.Name, title: "Server commands a turn", about: "sets that others wait for",
			limit: func(keys float64) float64 { return 4*keys + 10 },
		},
		{row: "sets", metric: measure.ServerCPU.Name, title: "Server CPU a turn", about: "one leaves, one gets it, one enters"},
	}},
	{"free.svg", "What a set costs that nobody wants, by its keys", []view{
		{row: "free", metric: measure.Commands.Name, title: "Server commands", about: "obtain and release of a free set"},
		{row: "free", metric: measure.ServerCPU.Name, title: "Server CPU", about: "obtain and release of a free set"},
	}},
	{"polling.svg", "Callers of one process that want one key, by library", []view{
		{row: "polling", metric: measure.Commands.Name, title: "Server commands an acquisition", about: polled},
		{row: "polling", metric: measure.ServerCPU.Name, title: "Server CPU an acquisition", about: polled},
	}},
}

// looks are how the sides look that are in charts.
var looks = map[string]plot.Look{
	"live": plot.Blue, "expired": plot.Orange,
	"in line":  plot.Green,
	"same set": plot.Blue, "fenced": plot.Green, "half read": plot.Orange, "overlapping": plot.Purple, "free": plot.Brown,
	"write": plot.Blue, "read": plot.Orange,
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
	panel := plot.Panel{Title: v.title, About: v.about, Axis: row.Grows, Format: plot.Number, Show: v.show}
	var limit plot.Line
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
		if len(line.Points) > len(limit.Points) {
			limit.Points = slices.Clone(line.Points)
		}
	}
	if v.limit != nil {
		limit.Name, limit.Look = "limit", plot.Limit
		for i, p := range limit.Points {
			limit.Points[i] = plot.Point{At: p.At, Value: v.limit(p.At)}
		}
		panel.Lines = append([]plot.Line{limit}, panel.Lines...)
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
