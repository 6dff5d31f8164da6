// Package campaign runs rounds: it starts workers on servers, does faults to both as a plan says, has the checkers look at what
// the workers have written down, and reports.
package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/count"
	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/proof/torture/work"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// Options are what a campaign is asked to do.
type Options struct {
	Seed       uint64
	For        time.Duration // in all; a round that has begun is ended
	Topologies []world.Topology
	Loads      []string      // empty: all that there are
	Round      int           // only this one; 0: one after the other
	Faults     int           // only the first so many of it; negative: all
	Shrink     time.Duration // for which the first round that fails is done again
	Keep       string        // the folder for histories of rounds that fail
}

// Parts are what a campaign is made of.
type Parts struct {
	World    func(tb testing.TB, s Setup) world.World
	Loads    func(topology world.Topology, endless bool) []string
	Keys     func(topology world.Topology) []string
	Hire     func(tb testing.TB, c work.Config) Worker
	Checkers []check.Checker
	Bounds   check.Bounds
	Times    Times
	// Draw makes pictures of a history in its folder.
	Draw func(h *history.History, found []check.Finding, folder string) error
}

// A Campaign is one run.
type Campaign struct {
	Options
	Parts
	shrunk bool // a round has failed, and was done again
	begun  int  // rounds
}

// Run does the whole campaign, and fails the test if a promise was broken.
func (c *Campaign) Run(t *testing.T) *Report {
	t.Helper()
	began := time.Now()
	report := &Report{Seed: c.Seed, Checkers: c.all()}
	t.Logf("seed %d, for %v, on %s", c.Seed, c.For, join(c.Topologies))
	for i, topology := range c.Topologies {
		share := (c.For - time.Since(began)) / time.Duration(len(c.Topologies)-i)
		part := Part{topology, newResult()}
		t.Run(string(topology), func(t *testing.T) { c.on(t, topology, time.Now().Add(share), part.Result) })
		report.Parts = append(report.Parts, part)
	}
	report.Took = time.Since(began)
	return report
}

// all are the checkers, and the campaign's own look at what is left.
func (c *Campaign) all() []check.Checker {
	return append(slices.Clone(c.Checkers), check.Checker{Promise: check.Clean, Counts: "rounds"})
}

// on does rounds on one topology, at least one. Servers that a fault has spoilt are replaced by new ones, but not for ever.
func (c *Campaign) on(t *testing.T, topology world.Topology, until time.Time, result *Result) {
	t.Helper()
	next := max(c.Round, 1)
	for problems := 0; problems < 3; {
		var skipped, over bool
		done := t.Run("servers", func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			next, over = c.rounds(t, c.World(t, SetupOf(c.Seed, topology)), topology, next, until, result)
		})
		switch {
		case skipped:
			t.Skip("nothing was done")
		case over:
			return
		case !done || len(result.Problems) > 0:
			problems++
		}
	}
}

// rounds does rounds on the same servers, until the time is over, a promise was broken, or the servers cannot be used any more.
// It returns the number of the next round, and whether there is none.
func (c *Campaign) rounds(
	t *testing.T, w world.World, topology world.Topology, n int, until time.Time, result *Result,
) (next int, over bool) {
	t.Helper()
	plan := c.plan(topology, w)
	if len(plan.Loads)+len(plan.EndlessLoads) == 0 {
		t.Skipf("no load of %q can be played on %s", join(c.Options.Loads), topology)
	}
	for ; ; n++ {
		r := plan.Round(n)
		if c.Faults >= 0 && c.Round > 0 {
			r.Faults = r.Faults[:min(c.Faults, len(r.Faults))]
		}
		one, folder := c.round(t, w, r)
		result.Add(one)
		for _, p := range one.Problems {
			t.Error(p)
		}
		if one.Failed() {
			c.failed(t, w, r, one, folder)
		}
		switch {
		case one.Failed(), c.Round > 0, time.Now().After(until):
			return n + 1, true
		case len(one.Problems) > 0:
			return n + 1, false
		}
	}
}

func (c *Campaign) plan(topology world.Topology, w world.World) Plan {
	loads := func(endless bool) []string {
		all := c.Parts.Loads(topology, endless)
		if len(c.Options.Loads) > 0 {
			all = slices.DeleteFunc(slices.Clone(all), func(l string) bool { return !slices.Contains(c.Options.Loads, l) })
		}
		return all
	}
	p := Plan{
		Seed: c.Seed, Topology: topology, Kinds: Kinds(w.Nemeses()), Loads: loads(false), EndlessLoads: loads(true),
	}
	p.CalmLoads = slices.DeleteFunc(slices.Clone(p.Loads), func(l string) bool { return !slices.Contains(calmLoads, l) })
	return p
}

// round does one round as a test of its own, so that its workers end with it. The folder has its history.
func (c *Campaign) round(t *testing.T, w world.World, r Round) (result *Result, folder string) {
	t.Helper()
	folder = t.TempDir()
	c.begun++
	keys := c.keys(r.Topology)
	t.Run(fmt.Sprintf("round-%d-%s-%s", r.Number, r.Sort, r.Load), func(t *testing.T) {
		s := Stage{
			World: w, Checkers: c.Checkers, Times: c.Times, Bounds: c.Bounds,
			Hire: func(config work.Config) Worker { return c.Hire(t, config) },
			Keys: func(Round) []string { return keys },
		}
		result = s.Run(r, folder)
		t.Logf("%v: %s, %s, %d processes with %d clients", result.Took.Round(time.Millisecond),
			count.Of(sum(result.Operations), "operation"), count.Of(sum(result.Faults), "fault"), r.Processes, r.Clients)
		if result.Failed() {
			t.Error(count.Of(len(result.Found), "finding")) // so that what the workers wrote to stderr is shown
		}
	})
	if result == nil {
		result = newResult()
		result.Problems = append(result.Problems, fmt.Sprintf("round %d did not come to its end", r.Number))
	}
	return result, folder
}

// keys are those of a round, and of no other: some may still be taken that their owners have left.
func (c *Campaign) keys(topology world.Topology) []string {
	keys := slices.Clone(c.Keys(topology))
	for i := range keys {
		keys[i] += fmt.Sprintf(":%d", c.begun)
	}
	return keys
}

// failed says what was found, keeps the history, and looks for what is enough to find it.
func (c *Campaign) failed(t *testing.T, w world.World, r Round, result *Result, folder string) {
	t.Helper()
	kept := filepath.Join(c.Keep, fmt.Sprintf("%d-%s-%d", c.Seed, r.Topology, r.Number))
	if err := keep(folder, kept, result.Found, c.Draw); err != nil {
		t.Errorf("%s could not be written: %v", kept, err)
	}
	t.Errorf("seed %d, round %d on %s, load %s: %s\n%shistory and pictures: %s", c.Seed, r.Number, r.Topology, r.Load,
		count.Of(len(result.Found), "finding"), some(result.Found), kept)
	faults := len(r.Faults)
	if !c.shrunk && c.Shrink > 0 {
		c.shrunk = true
		s := Shrink(faults, c.Shrink, func(n int) bool { return c.again(t, w, r, n, result.Found) })
		faults = s.Faults
		t.Log(s)
	}
	for _, f := range r.Faults[:faults] {
		t.Log(f)
	}
	t.Logf("again: %s", c.command(r, faults))
}

// again reports whether a promise that was broken is broken again by the first faults of the round.
func (c *Campaign) again(t *testing.T, w world.World, r Round, faults int, found []check.Finding) bool {
	t.Helper()
	r.Faults = r.Faults[:faults]
	result, _ := c.round(t, w, r)
	return slices.ContainsFunc(result.Found, func(f check.Finding) bool {
		return slices.ContainsFunc(found, func(was check.Finding) bool { return was.Promise == f.Promise })
	})
}

// command repeats a round.
func (c *Campaign) command(r Round, faults int) string {
	text := fmt.Sprintf("make torture SEED=%d TOPOLOGY=%s ROUND=%d FAULTS=%d", c.Seed, r.Topology, r.Number, faults)
	if len(c.Options.Loads) > 0 {
		text += " LOAD=" + strings.Join(c.Options.Loads, ",")
	}
	return text
}

// keep copies the history of a round, and writes what was found beside it.
func keep(
	folder, kept string, found []check.Finding, draw func(*history.History, []check.Finding, string) error,
) error {
	if err := os.RemoveAll(kept); err != nil {
		return err
	}
	if err := os.CopyFS(kept, os.DirFS(folder)); err != nil {
		return err
	}
	all := ""
	for _, f := range found {
		all += describe(f, len(f.Events))
	}
	if err := os.WriteFile(filepath.Join(kept, "findings.txt"), []byte(all), 0o644); err != nil {
		return err
	}
	h, err := history.Read(kept)
	if err != nil || draw == nil {
		return err
	}
	return draw(h, found, kept)
}
