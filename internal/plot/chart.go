// Package plot draws line charts as SVG, with logarithmic axes. A drawing is small, has no
// background of its own, and can be read on a light and on a dark page. The same chart gives the
// same bytes.
//
// scale.go and label.go decide where things are, panel.go draws, and look.go and svg.go have the
// looks. The folder proof/benchmarks draws docs/charts with it, and redislock tune its picture.
package plot

import (
	"fmt"
	"math"
	"strings"
)

// The drawing is as wide as the text of a README is on a screen.
const (
	chartWidth  = 830
	chartHeight = 312
)

// A Chart is one drawing: two panels, side by side.
type Chart struct {
	Title  string // what it shows, for readers who cannot see it
	Panels []Panel
}

// A Panel shows one metric.
type Panel struct {
	Title  string
	About  string               // below the title: what exactly was measured
	Axis   string               // what the lines run along, such as "waiters"
	Format func(float64) string // how a value is written, such as [Number]
	Lines  []Line               // the last one is on top
}

// A Line is what one side measured, in ascending order of At. Its Name is beside its end. It has the
// same Look wherever it has the same Name. There is room for twelve letters.
type Line struct {
	Name   string
	Look   Look
	Points []Point
}

// A Point is one measurement. Low and High are the ends of its spread; both are zero if that is not shown. Other values
// are greater than zero.
type Point struct{ At, Value, Low, High float64 }

// Draw returns the drawing. It is an error if a panel has nothing to show, or has a value without a place on a
// logarithmic axis.
func Draw(chart Chart) ([]byte, error) {
	for _, p := range chart.Panels {
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Title, err)
		}
	}
	c := &canvas{}
	c.put(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%[2]d" viewBox="0 0 %[1]d %[2]d"`+
		` role="img" aria-labelledby="title desc">`, chartWidth, chartHeight)
	c.put(`<title id="title">%s</title>`, escaped(chart.Title))
	c.put(`<desc id="desc">%s</desc>`, escaped(describe(chart.Panels)))
	names := namesOf(chart.Panels)
	c.put("<style>%s</style>", style(names))
	c.put("<defs>\n%s</defs>", marks(names))
	for i, p := range chart.Panels {
		left := float64(i) * (chartWidth + panelGap) / float64(len(chart.Panels))
		place(p, left).draw(c)
	}
	c.put("</svg>")
	return c.Bytes(), nil
}

// check says why a panel cannot be drawn.
func (p Panel) check() error {
	if len(p.Lines) == 0 {
		return fmt.Errorf("no lines")
	}
	for _, l := range p.Lines {
		if len(l.Points) == 0 {
			return fmt.Errorf("%s has no points", l.Name)
		}
		for _, point := range l.Points {
			for _, v := range append([]float64{point.At, point.Value}, point.spread()...) {
				if !(v > 0) || math.IsInf(v, 0) {
					return fmt.Errorf("%s: %v has no place on a logarithmic axis", l.Name, v)
				}
			}
		}
	}
	return nil
}

// spread returns Low and High, if they are shown.
func (p Point) spread() []float64 {
	if p.Low == 0 && p.High == 0 {
		return nil
	}
	return []float64{p.Low, p.High}
}

// describe says in words what the lines show.
func describe(panels []Panel) string {
	text := fmt.Sprintf("%d line charts with logarithmic axes.", len(panels))
	for _, p := range panels {
		var lines []string
		for _, l := range p.Lines {
			first, last := p.Format(rounded(l.Points[0].Value)), p.Format(rounded(l.Points[len(l.Points)-1].Value))
			if first == last {
				lines = append(lines, l.Name+" "+first)
			} else {
				lines = append(lines, l.Name+" from "+first+" to "+last)
			}
		}
		places := p.places()
		text += fmt.Sprintf(" %s, from %s to %s %s: %s.", p.Title,
			Number(places[0]), Number(places[len(places)-1]), p.Axis, strings.Join(lines, ", "))
	}
	return text
}

// namesOf returns each line's name once, with its look, in order.
func namesOf(panels []Panel) []Line {
	var names []Line
	seen := map[string]bool{}
	for _, p := range panels {
		for _, l := range p.Lines {
			if !seen[l.Name] {
				seen[l.Name] = true
				names = append(names, Line{Name: l.Name, Look: l.Look})
			}
		}
	}
	return names
}
