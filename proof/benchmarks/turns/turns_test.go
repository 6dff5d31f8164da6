package main

import (
	"context"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/plot"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/turns"
	"github.com/seed-14de3678/redislock/proof/earlier"
	"github.com/seed-14de3678/redislock/proof/internal/measure"
	"github.com/seed-14de3678/redislock/proof/internal/page"
)

const root = "../../.."

func TestMain(m *testing.M) { redistest.Main(m) }

// Every part can be measured, with both versions, and everything that has a limit has a figure. How large it is depends on the
// machine; what does not has its tests in proof/test/local.
func TestParts(t *testing.T) {
	t.Parallel()
	redistest.Need(t, "redis-server")
	b, err := open(context.WithoutCancel(t.Context()), root) // it is closed when the test is over
	earlier.Need(t, root, err)
	defer func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	}()
	r := &report{blocks: 1, shorter: 20}
	if n, err := r.measure(t.Context(), b, regexp.MustCompile(".")); err != nil || n != len(parts) {
		t.Fatalf("got %d parts, %v, want all of them", n, err)
	}
	for _, c := range r.claims {
		if !(c.now.Median >= 0) || math.IsInf(c.now.Median, 0) {
			t.Errorf("%s: got %v", c.what, c.now)
		}
	}
	if _, err := plot.Draw(r.chart()); err != nil {
		t.Error(err)
	}
}

// section is what the page says of waiting in one process.
func section(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(root + "/docs/measurements.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "\n## Waiting in one process\n")
	of, _, _ := strings.Cut(after, "\n## ")
	if !found {
		t.Fatal("the page has no section about one process")
	}
	return of
}

// The section has a place for each part, and no figures by hand: those would contradict the tables some day.
func TestPage(t *testing.T) {
	t.Parallel()
	text := section(t)
	for _, p := range example().parts() {
		if _, err := p.Into(text); err != nil {
			t.Error(err)
		}
	}
	if found := page.Figures(text); len(found) > 0 {
		t.Errorf("these figures are written by hand: %q; let a part of the page have them, or leave them out", found)
	}
}

// example is a report of two claims.
func example() *report {
	r := &report{server: "7.0.15", average: "0.1", load: measure.Load{Known: true, Others: .01}}
	r.atLeast(2, "turns", measure.OnWall, measure.Exactly(.5), measure.Spread{Median: 2.5, Low: 2.4, High: 2.6})
	r.atMost(120, "time", measure.Micros, measure.OnCPU, unknown, measure.Exactly(150))
	return r
}

func TestTable(t *testing.T) {
	t.Parallel()
	const want = `Of 2 aims 1 hold. These do not hold:

|  | has to be | is |
|---|---|---|
| time | at most 120 µs | 150 µs |
`
	r := example()
	if got := r.table(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	const all = "turns: 2.50 × (2.40 × to 2.60 ×), before 0.50 ×, at least 2.00 ×: holds\ntime: 150 µs, at most 120 µs: does not hold\n"
	if got := r.all(); got != all {
		t.Errorf("got\n%s\nwant\n%s", got, all)
	}
	r.claims = r.claims[:1]
	if got, want := r.table(), "All of 1 aims hold.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Of a played scene, the callers are compared over all blocks, and waits in each.
func TestPlayed(t *testing.T) {
	t.Parallel()
	p := played{
		Result: measure.Result{Blocks: []measure.Usage{{Ops: 3}, {Ops: 5}}},
		blocks: []turns.Shares{
			{Turns: []int{3, 0}, Waits: turns.Waits{Sum: 6, Most: 4}},
			{Turns: []int{3, 2}, Waits: turns.Waits{Sum: 5, Most: 3}},
		},
	}
	if got := p.uneven().Median; got != 1.5 {
		t.Errorf("the most turns are %v times the mean, want 1.5", got)
	}
	if got := p.longWaits(); got[0] != 2 || got[1] != 3 {
		t.Errorf("got longest waits of %v times the mean, want 2 and 3", got)
	}
}
