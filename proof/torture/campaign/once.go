package campaign

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// A Scenario is one round whose faults are given, and not planned.
type Scenario struct {
	Setup
	Load    string
	Endless bool
	Names   []string      // of the faults, of which each is done again and again; those of workers and of servers at the same time
	Every   time.Duration // from the beginning of one to that of the next, not counting the time for which it lasts
	Lasts   time.Duration // each
	For     time.Duration
}

// round makes a Round of a scenario. Names that neither the world nor the campaign knows are an error.
func (s Scenario) round(seed uint64, kinds []Kind) (Round, error) {
	r := Round{Number: 1, Seed: seed, Topology: s.Topology, Sort: Breaking, Load: s.Load, Processes: 4, Clients: 4, For: s.For}
	if s.Endless {
		r.Sort = Endless
	}
	free := map[bool]time.Duration{}
	for _, name := range s.Names {
		if !slices.ContainsFunc(kinds, func(k Kind) bool { return k.Name == name }) {
			return r, fmt.Errorf("nobody can do %q on %s", name, s.Topology)
		}
	}
	for i := 0; len(s.Names) > 0; i++ {
		k := kinds[slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == s.Names[i%len(s.Names)] })]
		at := free[k.Worker] + s.Every
		if at >= s.For {
			break
		}
		r.Faults = append(r.Faults, Fault{Kind: k, At: at, For: s.Lasts, Seed: seed + uint64(i)})
		free[k.Worker] = at + s.Lasts
	}
	slices.SortStableFunc(r.Faults, func(a, b Fault) int { return int(a.At - b.At) })
	for i := range r.Faults {
		r.Faults[i].Number = i + 1
	}
	return r, nil
}

// Play does the round of a scenario, and fails the test if a promise was broken. It returns what it has shown.
func (c *Campaign) Play(t *testing.T, s Scenario) *Result {
	t.Helper()
	w := c.World(t, s.Setup)
	r, err := s.round(c.Seed, Kinds(w.Nemeses()))
	if err != nil {
		t.Fatal(err)
	}
	result, folder := c.round(t, w, r)
	for _, p := range result.Problems {
		t.Error(p)
	}
	if result.Failed() {
		c.failed(t, w, r, result, folder)
	}
	return result
}
