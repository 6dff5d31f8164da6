package main

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/plot"
	"github.com/seed-14de3678/redislock/proof/benchmarks/turns/task"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
	"github.com/seed-14de3678/redislock/proof/internal/page"
)

// A report is what was measured so far.
type report struct {
	blocks  int           // of each scene
	shorter time.Duration // so many times as short is everything as it would be; 0: as it is
	load    measure.Load  // of the part that is measured
	loads   []measure.Load
	claims  []claim
	crowds  []played
	shown   []shown
	server  string // its version
	average string // load before it began
}

// A claim is a figure that has a limit.
type claim struct {
	what     string
	unit     measure.Unit
	limit    measure.Limit
	was, now measure.Spread
	verdict  measure.Verdict
}

// A shown part has a table of all its scenes.
type shown struct {
	title string
	all   []played
}

// unknown is what the version before does not have.
var unknown = measure.Exactly(math.NaN())

// atLeast claims that a ratio is at least so much.
func (r *report) atLeast(least float64, what string, basis measure.Basis, was, now measure.Spread) {
	r.claim(measure.Limit{Value: least, AtLeast: true}, what, measure.Times, basis, was, now)
}

// atMost claims that a figure is at most so much.
func (r *report) atMost(most float64, what string, unit measure.Unit, basis measure.Basis, was, now measure.Spread) {
	r.claim(measure.Limit{Value: most}, what, unit, basis, was, now)
}

func (r *report) claim(limit measure.Limit, what string, unit measure.Unit, basis measure.Basis, was, now measure.Spread) {
	r.claims = append(r.claims, claim{what, unit, limit, was, now, measure.Judge(now, limit, unit, basis, r.load)})
	r.loads = append(r.loads, r.load)
}

// parts are those of the page.
func (r *report) parts() []page.Part {
	return []page.Part{
		{Name: "turns", Text: r.table()},
		{Name: "turns more", Text: r.more()},
		{Name: "turns made", Text: r.made()},
	}
}

// row is a line of a table.
func row(cells ...string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// table says how many claims hold, and has those that do not.
func (r *report) table() string {
	text, count := row("", "has to be", "is")+"|---|---|---|\n", page.Count{All: len(r.claims)}
	for _, c := range r.claims {
		switch {
		case c.verdict.Open != "":
			count.Open++
		case !c.verdict.Holds:
			count.Broken++
			text += row(c.what, c.has(), c.unit.Format(c.now.Median))
		}
	}
	return count.Text("aims", text)
}

// all are all claims, for the terminal.
func (r *report) all() string {
	var text strings.Builder
	for _, c := range r.claims {
		was := ""
		if !math.IsNaN(c.was.Median) {
			was = ", before " + c.unit.Format(c.was.Median)
		}
		fmt.Fprintf(&text, "%s: %s%s, %s: %s\n", c.what, spread(c.unit, c.now), was, c.has(), c.verdict)
	}
	return text.String()
}

// has says what the limit of a claim is.
func (c claim) has() string {
	if c.limit.AtLeast {
		return "at least " + c.unit.Format(c.limit.Value)
	}
	return "at most " + c.unit.Format(c.limit.Value)
}

// spread writes a figure, with its quartiles if they can be told apart.
func spread(unit measure.Unit, s measure.Spread) string {
	low, high := unit.Format(s.Low), unit.Format(s.High)
	if low == high {
		return unit.Format(s.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", unit.Format(s.Median), low, high)
}

// more has the figures of some parts.
func (r *report) more() string {
	var tables []string
	for _, s := range r.shown {
		text := row(s.title, "turns a second", "processor time a turn", "commands a turn", "longest ÷ mean wait") + "|---|---|---|---|---|\n"
		for _, p := range s.all {
			if p.scene.version == before {
				continue // what it has is part of aims
			}
			text += row(p.Name, measure.PerSec.Format(p.Spread(measure.PerSecond).Median), measure.Micros.Format(p.Spread(measure.CPU).Median),
				measure.Count.Format(p.Spread(measure.Calls).Median),
				measure.Times.Format(measure.SpreadOf(p.longWaits()).Median))
		}
		tables = append(tables, text)
	}
	return strings.Join(tables, "\n")
}

// made says on what.
func (r *report) made() string {
	most := 0.
	for _, l := range r.loads {
		most = max(most, l.Others)
	}
	return fmt.Sprintf("Made by `make turns`: Redis %s, Go %s, %d processors that the server and all processes share; load average before %s; "+
		"other processes took up to %.0f %% of the machine. Before is %.7s. bsm/redislock asks again after %s; PassOn is %s.\n",
		r.server, strings.TrimPrefix(runtime.Version(), "go"), runtime.NumCPU(), r.average, 100*most, beforeCommit, text(interval), text(task.PassOn))
}

// text is a duration of whole milliseconds, as a page has it.
func text(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

// looks are how the ways look in the picture.
var looks = map[task.Way]plot.Look{task.BSM: plot.Orange, task.Rueidis: plot.Pink, task.InLine: plot.Green, task.Passing: plot.Blue}

// thousands writes a number so that it fits beside an axis.
func thousands(value float64) string {
	if value < 1000 {
		return plot.Number(value)
	}
	return plot.Number(value/1000) + "k"
}

// chart is the picture of the crowds.
func (r *report) chart() plot.Chart {
	turns := plot.Panel{Title: "Turns a second", About: "one process, all want one key, hold 0", Axis: "callers", Format: thousands}
	cost := plot.Panel{Title: "Processor time a turn", About: "of the server and of the process", Axis: "callers", Format: plot.Microseconds}
	for _, way := range []task.Way{task.BSM, task.Rueidis, task.InLine, task.Passing} {
		line := plot.Line{Name: strings.TrimSuffix(strings.TrimPrefix(string(way), "in line, with "), "/redislock"), Look: looks[way]}
		dear := line
		for _, p := range r.crowds {
			if p.scene.way != way {
				continue
			}
			at := float64(p.scene.callers)
			line.Points = append(line.Points, plot.Point{At: at, Value: p.Spread(measure.PerSecond).Median})
			dear.Points = append(dear.Points, plot.Point{At: at, Value: p.Spread(measure.CPU).Median})
		}
		turns.Lines, cost.Lines = append(turns.Lines, line), append(cost.Lines, dear)
	}
	return plot.Chart{Title: "Turns of callers of one process, by how many they are", Panels: []plot.Panel{turns, cost}}
}

// draw writes the picture.
func (r *report) draw(file string) error {
	drawing, err := plot.Draw(r.chart())
	if err != nil {
		return err
	}
	return os.WriteFile(file, drawing, 0o644)
}
