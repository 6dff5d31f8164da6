package measure

import (
	"fmt"
	"math"
)

// A Basis is what a figure rests on, and with that how much load it bears.
type Basis int

// The bases that there are.
const (
	OnCounts Basis = iota // of commands: they do not depend on the machine
	OnCPU                 // time of processors: it depends little on what others do
	OnWall                // time of a clock
)

// bears is the load of others at which a basis says nothing any more, as a share of the machine.
var bears = map[Basis]float64{OnCounts: math.Inf(1), OnCPU: .5, OnWall: .15}

const (
	mostSteal = .05
	mostSlow  = 1.5
	mostWidth = 2 // from quartile to quartile; what is spread wider was disturbed
)

// A Limit is what a figure may be at most, or has to be at least if AtLeast is set.
type Limit struct {
	Value   float64
	AtLeast bool
}

// A Verdict says whether a figure keeps its limit.
type Verdict struct {
	Holds bool
	Open  string `json:",omitempty"` // why there is no conclusion; empty if there is one
}

// Judge compares a figure with its limit, as both are written in the unit. It holds if it does so at
// the worse quartile, and does not hold if it does not at the better one.
func Judge(value Spread, limit Limit, unit Unit, basis Basis, load Load) Verdict {
	switch {
	case math.IsNaN(value.Median):
		return Verdict{Open: "it was not measured"}
	case basis != OnCounts && load.Known && load.Others > bears[basis]:
		return Verdict{Open: fmt.Sprintf("the machine was busy (%s)", load)}
	case basis != OnCounts && load.Known && load.Steal > mostSteal:
		return Verdict{Open: fmt.Sprintf("the machine had to wait for its host (%s)", load)}
	case basis != OnCounts && load.Slow > mostSlow:
		return Verdict{Open: fmt.Sprintf("the processors were slow (%s)", load)}
	case basis != OnCounts && value.width() > mostWidth:
		return Verdict{Open: "the spread is too wide: " + unit.Format(value.Low) + " to " + unit.Format(value.High)}
	}
	low, high := limit.kept(value.Low, unit), limit.kept(value.High, unit)
	if low != high {
		return Verdict{Open: "the limit is within the spread: " + unit.Format(value.Low) + " to " + unit.Format(value.High)}
	}
	return Verdict{Holds: low}
}

// kept compares figures as precisely as they are written: a stray command among a thousand turns
// breaks no limit.
func (l Limit) kept(value float64, unit Unit) bool {
	digits := 10.
	if unit == Times {
		digits = 100
	}
	value = math.Round(value*digits) / digits
	if l.AtLeast {
		return value >= l.Value
	}
	return value <= l.Value
}

// String is the verdict in words.
func (v Verdict) String() string {
	switch {
	case v.Open != "":
		return "no conclusion: " + v.Open
	case v.Holds:
		return "holds"
	default:
		return "does not hold"
	}
}
