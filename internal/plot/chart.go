package main

import (
	"fmt"
	"slices"
	"strings"
)

// The drawing is as wide as the text of a README is on a screen.
const (
	chartWidth  = 830
	chartHeight = 312
)

// A metric is what a panel shows.
type metric struct {
	unit   string
	title  string
	about  string
	format func(float64) string
}

var metrics = []metric{
	{unitCommands, "Commands per acquisition", "Redis commands, Obtain and Release together", number},
	{unitHandOff, "Hand-off time", "from Release until the next Obtain returns", microseconds},
}

// chart draws a panel for each metric, side by side.
func chart(all []series) []byte {
	c := &canvas{}
	c.put(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%[2]d" viewBox="0 0 %[1]d %[2]d"`+
		` role="img" aria-labelledby="title desc">`, chartWidth, chartHeight)
	c.put(`<title id="title">Commands per acquisition and hand-off time against the number of waiters</title>`)
	c.put(`<desc id="desc">%s</desc>`, describe(all))
	c.put("<style>%s</style>", style)
	c.put("<defs>\n%s</defs>", marks)
	for i, m := range metrics {
		left := float64(i) * (chartWidth + panelGap) / float64(len(metrics))
		newPanel(m, all, left).draw(c)
	}
	c.put("</svg>")
	return c.Bytes()
}

// describe says in words what the lines show.
func describe(all []series) string {
	waiters := waitersOf(all)
	text := fmt.Sprintf("Two line charts with logarithmic axes, from %d to %d waiters.",
		waiters[0], waiters[len(waiters)-1])
	for _, m := range metrics {
		var lines []string
		for _, s := range all {
			values := s.values(m.unit)
			first, last := m.format(rounded(values[0])), m.format(rounded(values[len(values)-1]))
			if first == last {
				lines = append(lines, s.by+" "+first)
			} else {
				lines = append(lines, s.by+" from "+first+" to "+last)
			}
		}
		text += " " + m.title + ": " + strings.Join(lines, ", ") + "."
	}
	return text
}

// waitersOf returns every number of waiters that was measured, in ascending order.
func waitersOf(all []series) []int {
	var waiters []int
	for _, s := range all {
		for _, p := range s.points {
			waiters = append(waiters, p.waiters)
		}
	}
	slices.Sort(waiters)
	return slices.Compact(waiters)
}
