package rows

import (
	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// A report is what a row has measured so far.
type report struct {
	figures []Figure
	claims  []Claim
}

// add takes metrics of results.
func (r *report) add(results []measure.Result, metrics ...measure.Metric) {
	for _, result := range results {
		for _, m := range metrics {
			r.figure(result.Name, result.At, m.Name, m.Unit, result.Spread(m))
		}
	}
}

func (r *report) figure(by string, at int, metric string, unit measure.Unit, value measure.Spread) {
	r.figures = append(r.figures, Figure{by, at, metric, unit, value})
}

// A subject is what a claim is about.
type subject struct {
	what  string
	at    int
	unit  measure.Unit
	basis measure.Basis
}

// atMost claims that a value is at most so much.
func (r *report) atMost(most float64, of subject, value measure.Spread) {
	r.claim(measure.Limit{Value: most}, of, value)
}

// atLeast claims that a value is at least so much.
func (r *report) atLeast(least float64, of subject, value measure.Spread) {
	r.claim(measure.Limit{Value: least, AtLeast: true}, of, value)
}

func (r *report) claim(limit measure.Limit, of subject, value measure.Spread) {
	r.claims = append(r.claims, Claim{What: of.what, At: of.at, Unit: of.unit, Basis: of.basis, Value: value, Limit: limit})
}

// counted is about commands, and ratio about the processor time of one thing by that of another.
func counted(what string, at int) subject { return subject{what, at, measure.Count, measure.OnCounts} }

func ratio(what string, at int) subject { return subject{what, at, measure.Times, measure.OnCPU} }

// resultOf finds a side among the results.
func resultOf(results []measure.Result, name string, at int) measure.Result {
	for _, r := range results {
		if r.Name == name && r.At == at {
			return r
		}
	}
	return measure.Result{Name: name, At: at}
}
