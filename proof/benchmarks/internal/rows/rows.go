// Package rows measures what grows: each row of a table is one thing that grows, with what it may
// cost.
package rows

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/seed-14de3678/redislock/proof/internal/measure"
)

// ttl is how long the locks live: longer than anything that is measured.
const ttl = 10 * time.Minute

// A Row is one thing that is measured.
type Row struct {
	Name    string // on the command line, and of its figures
	Title   string
	About   string // what one operation is
	Grows   string // what its figures stand at, such as "keys"; empty if nothing grows
	measure func(context.Context, *stage) (*report, error)
}

// All are the rows, in the order in which they are measured.
var All = []Row{
	{"alone", "One key, nobody else there", "obtain and release of a free key", "", alone},
	{"readers", "Readers of one key", "ObtainRead, Refresh and Release by one more; of the expired, 9 of 10 are", "readers", readers},
	{"sets", "Sets that others wait for", "a turn of four: one leaves, one is granted, one enters", "keys", sets},
	{"waiters", "Waiters in one line", "a turn: one leaves, one is granted, one enters", "waiters", waiters},
	{"idle", "Waiters while nothing moves", "500 lines of 4 waiters, all of one Client", "", idle},
	{"free", "Free sets", "obtain and release of a set that nobody wants", "keys", free},
	{"refused", "A refused attempt", "one attempt, without waiting", "", refused},
	{"quorum", "A quorum of five servers", "obtain and release", "", quorums},
	{"polling", "Callers of one process that poll for one key", "obtain and release, asking again after 1 ms", "callers", polling},
	{"ways", "Ways to wait for one key", "obtain and release of a key that is held for 1 ms", "waiters", ways},
	{"large", "Large sets", "how long the main thread of the server is busy with one", "keys", large},
	{"watched", "Locks with a watchdog", "a renewal", "", watched},
	{"memory", "Memory of the server", "one more of each", "", memory},
}

// A Figure is something that was measured.
type Figure struct {
	By     string // the side
	At     int    // what grows; 0 if nothing does
	Metric string
	Unit   measure.Unit
	Value  measure.Spread
}

// A Claim is a figure that has a limit.
type Claim struct {
	What    string
	At      int // what grows; 0 if the claim is not about one size
	Unit    measure.Unit
	Value   measure.Spread
	Limit   measure.Limit
	Basis   measure.Basis
	Verdict measure.Verdict
}

// Used is how much of its limit a claim has used up: more than 1 is beyond it.
func (c Claim) Used() float64 {
	switch {
	case c.Limit.AtLeast:
		return c.Limit.Value / c.Value.Median
	case c.Limit.Value == 0:
		return c.Value.Median
	default:
		return c.Value.Median / c.Limit.Value
	}
}

// A Measured is a row with what was measured.
type Measured struct {
	Name, Title, About, Grows string
	Load                      measure.Load
	Took                      time.Duration
	Figures                   []Figure
	Claims                    []Claim
}

// Measure measures a row, each side of it for so long.
func (r Row) Measure(ctx context.Context, length time.Duration) (Measured, error) {
	s := &stage{plan: measure.For(length)}
	defer s.clear()
	began := time.Now()
	report, err := r.measure(ctx, s)
	if err != nil {
		return Measured{}, fmt.Errorf("%s: %w", r.Name, err)
	}
	if err := s.rest(ctx); err != nil {
		return Measured{}, err
	}
	for i, c := range report.claims {
		report.claims[i].Verdict = measure.Judge(c.Value, c.Limit, c.Unit, c.Basis, s.load())
	}
	return Measured{
		r.Name, r.Title, r.About, r.Grows, s.load(), time.Since(began), report.figures, report.claims,
	}, nil
}

// Find returns the figure of a side; a value that is not a number if there is none.
func (m Measured) Find(by string, at int, metric string) measure.Spread {
	for _, f := range m.Figures {
		if f.By == by && f.At == at && f.Metric == metric {
			return f.Value
		}
	}
	return measure.Exactly(math.NaN())
}
