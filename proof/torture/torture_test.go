package torture_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/campaign"
	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/work"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

var (
	duration = flag.Duration("for", 0, "how long the campaign takes; 0: the short form, a round on each of two topologies")
	seed     = flag.Uint64("seed", 0, "of the plan; 0: another one each time, but in the short form")
	topology = flag.String("topology", "all", "topologies with commas between them")
	load     = flag.String("load", "", "workloads with commas between them; empty: all")
	round    = flag.Int("round", 0, "only this round of the plan")
	faults   = flag.Int("faults", -1, "only the first so many faults of that round")
	shrink   = flag.Duration("shrink", 2*time.Minute, "for how long a round that fails is done again with fewer faults")
	keep     = flag.String("keep", filepath.Join("..", "..", ".bin", "torture"), "the folder for histories of rounds that fail")
	report   = flag.String("report", "", "the file for the report as markdown")
)

// shortSeed is the seed of the short form: what is a part of every run of the tests has the same plan each time.
const shortSeed = 4

func TestMain(m *testing.M) {
	redistest.RegisterRole(campaign.Role, work.Role)
	redistest.Main(m)
}

// TestTorture is a campaign.
func TestTorture(t *testing.T) {
	t.Parallel()
	c := &campaign.Campaign{Parts: parts(), Options: campaign.Options{
		Seed: *seed, For: *duration, Loads: list(*load), Round: *round, Faults: *faults, Shrink: *shrink, Keep: *keep,
	}}
	switch {
	case c.Seed != 0:
	case *duration == 0:
		c.Seed = shortSeed
	default:
		c.Seed = uint64(time.Now().UnixNano()) % 1_000_000
	}
	var err error
	if c.Topologies, err = topologies(*topology); err != nil {
		t.Fatal(err)
	}
	if *duration == 0 && *topology == "all" {
		others := slices.DeleteFunc(world.Topologies(), func(t world.Topology) bool { return t == world.Single })
		c.Topologies = []world.Topology{world.Single, others[c.Seed%uint64(len(others))]}
	}
	r := c.Run(t)
	t.Log(r.Text())
	if *report != "" {
		if err := os.WriteFile(*report, []byte(r.Markdown()), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// parts are the real ones.
func parts() campaign.Parts {
	return campaign.Parts{
		World:    start,
		Loads:    loads,
		Keys:     work.Keys,
		Hire:     campaign.Hire,
		Checkers: check.Checkers(),
		Bounds:   check.Bounds{Late: 500 * time.Millisecond, Progress: 5 * time.Second, Shift: world.MostShift},
		Times:    campaign.DefaultTimes,
		Draw:     check.Picture,
	}
}

// start runs the servers. No lease and no key that outlives its lock may take longer than MinUptime.
func start(tb testing.TB, s campaign.Setup) world.World {
	tb.Helper()
	var options []world.Option
	if s.Replicated {
		options = append(options, world.Replicated())
	}
	if s.MinUptime {
		options = append(options, world.MinUptime(3*work.ShortLease))
	}
	return world.Start(tb, s.Topology, s.Kind, options...)
}

// loads are the names of those that can be played.
func loads(topology world.Topology, endless bool) (names []string) {
	for _, l := range work.Loads() {
		if l.Endless == endless && slices.Contains(l.Topologies, topology) {
			names = append(names, l.Name)
		}
	}
	return names
}

// list reads names with commas between them.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// topologies reads the names of topologies.
func topologies(text string) (all []world.Topology, err error) {
	for _, name := range list(text) {
		switch t := world.Topology(name); {
		case name == "all":
			all = append(all, world.Topologies()...)
		case slices.Contains(world.Topologies(), t):
			all = append(all, t)
		default:
			return nil, fmt.Errorf("there is no topology %q, only %v", name, world.Topologies())
		}
	}
	return all, nil
}
