package campaign

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// A Report is what a campaign says at its end.
type Report struct {
	Seed     uint64
	Took     time.Duration
	Checkers []check.Checker
	Parts    []Part // one for each topology, in the order in which they were run
}

// A Part is what was found on one topology.
type Part struct {
	Topology world.Topology
	Result   *Result
}

// Total returns all parts as one.
func (r *Report) Total() *Result {
	total := newResult()
	for _, p := range r.Parts {
		total.Add(p.Result)
	}
	return total
}

// A table is what a report shows, first as its columns.
type table struct {
	title string
	rows  [][]string // the first has the names of the columns
}

// heading says what was done.
func (r *Report) heading() string {
	total := r.Total()
	return fmt.Sprintf("Seed %d, %s in %v, %s, %s.", r.Seed, count.Of(total.Rounds, "round"),
		r.Took.Round(time.Second), count.Of(sum(total.Operations), "operation"), count.Of(sum(total.Faults), "fault"))
}

// verdict says what was found.
func (r *Report) verdict() (lines []string) {
	total := r.Total()
	switch n := len(total.Found); n {
	case 0:
		lines = append(lines, "No promise was broken.")
	default:
		lines = append(lines, count.Of(n, "finding")+".")
	}
	if idle := total.Idle(r.Checkers); len(idle) > 0 {
		lines = append(lines, fmt.Sprintf("Nothing was there to be checked of: %s.", join(idle)))
	}
	return append(lines, total.Problems...)
}

// tables are what was done and looked at.
func (r *Report) tables() []table {
	total := r.Total()
	return []table{r.parts(), r.promises(total), faults(total), operations(total)}
}

func (r *Report) parts() table {
	t := table{"Topologies", [][]string{{"topology", "rounds", "operations", "faults", "findings"}}}
	for _, p := range r.Parts {
		t.rows = append(t.rows, []string{
			string(p.Topology), count.Number(p.Result.Rounds), count.Number(sum(p.Result.Operations)),
			count.Number(sum(p.Result.Faults)), count.Number(len(p.Result.Found)),
		})
	}
	return t
}

func (r *Report) promises(total *Result) table {
	t := table{"Promises", [][]string{{"promise", "rounds in which it was checked", "looked at", "findings"}}}
	for _, c := range r.Checkers {
		found := 0
		for _, f := range total.Found {
			if f.Promise == c.Promise {
				found++
			}
		}
		t.rows = append(t.rows, []string{
			string(c.Promise), count.Number(total.Checked[c.Promise]),
			count.Number(total.Looked[c.Promise]) + " " + c.Counts, count.Number(found),
		})
	}
	return t
}

func faults(total *Result) table {
	t := table{"Faults", [][]string{{"fault", "done", "could not be done"}}}
	names := slices.Compact(slices.Sorted(chain(maps.Keys(total.Faults), maps.Keys(total.Undone))))
	for _, name := range names {
		t.rows = append(t.rows, []string{name, count.Number(total.Faults[name]), count.Number(total.Undone[name])})
	}
	return t
}

// outcomes in the order of the columns. The last is that of operations without a Return.
var outcomes = []history.Outcome{history.OK, history.Refused, history.NotHeld, history.Unknown, history.Failed, ""}

func operations(total *Result) table {
	t := table{"Operations", [][]string{{"operation"}}}
	for _, o := range outcomes {
		t.rows[0] = append(t.rows[0], cmp.Or(string(o), "killed"))
	}
	type row struct {
		history.Package
		history.Action
	}
	all := map[row]map[history.Outcome]int{}
	for e, n := range total.Operations {
		r := row{e.Package, e.Action}
		if all[r] == nil {
			all[r] = map[history.Outcome]int{}
		}
		all[r][e.Outcome] += n
	}
	order := func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Action, b.Action))
	}
	for _, r := range slices.SortedFunc(maps.Keys(all), order) {
		cells := []string{strings.TrimSpace(string(r.Package) + " " + string(r.Action))}
		for _, o := range outcomes {
			cells = append(cells, count.Number(all[r][o]))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}
