package main

import "github.com/seed-14de3678/redislock/internal/plot"

// looks are how the ways of waiting look.
var looks = map[string]plot.Look{"linear": plot.Orange, "exponential": plot.Green, "queue": plot.Blue}

// chart has a panel for each unit, side by side.
func chart(all []series) plot.Chart {
	panel := func(unit, title, about string, format func(float64) string) plot.Panel {
		p := plot.Panel{Title: title, About: about, Axis: "waiters", Format: format}
		for _, s := range all {
			line := plot.Line{Name: s.by, Look: looks[s.by]}
			for _, of := range s.points {
				line.Points = append(line.Points, plot.Point{At: float64(of.waiters), Value: of.median[unit]})
			}
			p.Lines = append(p.Lines, line)
		}
		return p
	}
	return plot.Chart{
		Title: "Round trips per acquisition and hand-off time against the number of waiters",
		Panels: []plot.Panel{
			panel(unitRoundTrips, "Round trips per acquisition", "of Obtain and Release together", plot.Number),
			panel(unitHandOff, "Hand-off time", "from Release until the next Obtain returns", plot.Microseconds),
		},
	}
}
