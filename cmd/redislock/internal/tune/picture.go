package tune

import (
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/measure"
	"github.com/seed-14de3678/redislock/internal/plot"
)

// mostDrawn is how many policies a picture has room for.
const mostDrawn = 6

// drawn are the shares of all waits that a picture shows, as one in so many that waits longer.
var drawn = []float64{2, 5, 10, 20, 50, 100, 200, 500}

// picture draws waits, and how much is had for how many commands.
func (r *ranking) picture() ([]byte, error) {
	waits := plot.Panel{
		Title: "Wait", About: "of one in so many who wait, the others wait less",
		Axis: "one in", Format: plot.Microseconds,
	}
	yield := plot.Panel{
		Title: "Locks a second", About: "the further to the left, the fewer commands",
		Axis: "commands for each lock", Format: plot.Number,
	}
	for rank := range r.results {
		res, look := &r.results[rank], plot.Look(rank)
		waits.Lines = append(waits.Lines, plot.Line{Name: res.Name, Look: look, Points: waitPoints(&res.all, r.floor)})
		had := plot.Point{At: twoDigits(atLeast(res.all.CommandsEach())), Value: atLeast(res.all.PerSecond())}
		yield.Lines = append(yield.Lines, plot.Line{Name: res.Name, Look: look, Points: []plot.Point{had}})
	}
	return plot.Draw(plot.Chart{Title: "Ways of waiting under one load", Panels: []plot.Panel{waits, yield}})
}

// waitPoints are the quantiles that there are. Below the floor there is nothing to see.
func waitPoints(s *measure.Part, floor time.Duration) (points []plot.Point) {
	for _, one := range drawn {
		d, bound := s.Waits.Quantile(1 - 1/one)
		points = append(points, plot.Point{At: one, Value: float64(max(d, floor/10)) / float64(time.Microsecond)})
		if bound {
			break
		}
	}
	return points
}

// atLeast gives a value a place on a logarithmic axis.
func atLeast(v float64) float64 { return max(v, 0.01) }

// twoDigits is how exactly an axis is written.
func twoDigits(v float64) float64 {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 2, 64), 64)
	return v
}

// checkPicture finds out, before any time is spent, whether a picture could be written.
func checkPicture(name string, policies int) error {
	if policies > mostDrawn {
		return cli.Usagef("--plot: a picture has room for %d policies, and there are %d", mostDrawn, policies)
	}
	try, err := os.CreateTemp(filepath.Dir(name), ".tune-*")
	if err != nil {
		return cli.Usagef("--plot: %v", err)
	}
	_ = try.Close()
	_ = os.Remove(try.Name()) // an empty file is all that could be left
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return cli.Usagef("--plot %s is a folder", cli.Text(name))
	}
	return nil
}
