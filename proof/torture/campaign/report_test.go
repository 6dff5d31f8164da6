package campaign

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

func reportOf(parts ...Part) *Report {
	return &Report{
		Seed: 7, Took: 2 * time.Minute, Parts: parts,
		Checkers: []check.Checker{{Promise: check.Exclusion, Counts: "windows"}, {Promise: check.Order, Counts: "pairs"}},
	}
}

func resultOf(fill func(r *Result)) *Result {
	r := newResult()
	fill(r)
	return r
}

func TestReport(t *testing.T) {
	t.Parallel()
	report := reportOf(
		Part{world.Single, resultOf(func(r *Result) {
			r.Rounds = 3
			r.Operations[Ending{"", history.Obtain, history.OK}] = 12345
			r.Operations[Ending{"", history.Obtain, ""}] = 2
			r.Operations[Ending{history.Multi, history.Release, history.OK}] = 5
			r.Faults["cut"] = 4
			r.Looked[check.Exclusion], r.Checked[check.Exclusion] = 1000, 3
		})},
		Part{world.Ring, resultOf(func(r *Result) {
			r.Rounds = 1
			r.Faults["cut"], r.Undone["flush"] = 1, 2
			r.Looked[check.Exclusion], r.Checked[check.Exclusion] = 1, 1
			r.Found = []check.Finding{{Promise: check.Exclusion, Text: "x"}}
			r.Problems = []string{"round 9: the servers are gone"}
		})},
	)
	want := `
topology  rounds  operations  faults  findings
single    3       12 352      4       0
ring      1       0           1       1

promise    rounds in which it was checked  looked at      findings
exclusion  4                               1 001 windows  1
order      0                               0 pairs        0

fault  done  could not be done
cut    5     0
flush  0     2

operation      ok      refused  notheld  unknown  failed  killed
obtain         12 345  0        0        0        0       2
multi release  5       0        0        0        0       0

Seed 7, 4 rounds in 2m0s, 12 352 operations, 5 faults.
1 finding.
Nothing was there to be checked of: order.
round 9: the servers are gone
`
	if got := report.Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, line := range []string{
		"Seed 7, 4 rounds in 2m0s, 12 352 operations, 5 faults.", "1 finding.", "## Promises",
		"| exclusion | 4 | 1 001 windows | 1 |", "|---|---|---|---|", "| cut | 5 | 0 |",
	} {
		if !strings.Contains(report.Markdown(), "\n"+line+"\n") {
			t.Errorf("there is no line %q in\n%s", line, report.Markdown())
		}
	}
}

func TestReportOfNothingFound(t *testing.T) {
	t.Parallel()
	report := reportOf(Part{world.Single, resultOf(func(r *Result) {
		r.Looked[check.Exclusion], r.Looked[check.Order] = 1, 1
	})})
	if got := report.Text(); !strings.HasSuffix(got, "\nNo promise was broken.\n") {
		t.Errorf("got %q at the end, want that no promise was broken, and nothing behind it", got)
	}
}
