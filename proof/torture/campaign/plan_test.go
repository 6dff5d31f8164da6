package campaign

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

func planFor(seed uint64, topology world.Topology) Plan {
	return Plan{
		Seed: seed, Topology: topology,
		Kinds: Kinds([]world.Nemesis{
			{Name: "late"},
			{Name: "cut", Breaks: []check.Promise{check.Order}},
			{Name: "server-stop-long"},
			{Name: "flush", Breaks: []check.Promise{check.Exclusion, check.Linear}},
			{Name: "clock-ahead", Breaks: []check.Promise{check.Losses, check.Linear}},
		}),
		Loads:        []string{"sets", "readers", "queue"},
		EndlessLoads: []string{"sets"},
		CalmLoads:    []string{"line"},
	}
}

func TestPlanIsAFunction(t *testing.T) {
	t.Parallel()
	for n := 20; n > 0; n-- { // in another order
		one, two := planFor(7, world.Cluster).Round(n), planFor(7, world.Cluster).Round(n)
		if !reflect.DeepEqual(one, two) {
			t.Errorf("round %d is planned in two ways:\n%+v\n%+v", n, one, two)
		}
		for _, other := range []Plan{planFor(8, world.Cluster), planFor(7, world.Single)} {
			if len(one.Faults) > 0 && reflect.DeepEqual(one.Faults, other.Round(n).Faults) {
				t.Errorf("round %d of %d on %s has the same faults as that of 7 on cluster", n, other.Seed, other.Topology)
			}
		}
	}
}

func TestPlanKeepsBreachesApart(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		seen := map[Sort]int{}
		for n := 1; n <= 10; n++ {
			r := planFor(seed, world.Single).Round(n)
			seen[r.Sort]++
			broken := map[check.Promise]bool{}
			var about []string
			for _, f := range r.Faults {
				for _, p := range f.Breaks {
					broken[p] = true
				}
				if slices.Contains([]string{"flush", "clock-ahead"}, f.Name) && !slices.Contains(about, f.Name) {
					about = append(about, f.Name)
				}
			}
			wrong := broken[check.Exclusion] || broken[check.Losses]
			switch r.Sort {
			case Calm:
				wrong = r.Load != "line" || slices.ContainsFunc(r.Faults, func(f Fault) bool { return !f.Worker })
			case Strict:
				wrong = wrong || broken[check.Order]
			case Endless:
				wrong = wrong || broken[check.Linear]
			case Breaking:
				wrong = len(about) != 1
			}
			if wrong {
				t.Errorf("seed %d: a round that is %s has %v", seed, r.Sort, r.Faults)
			}
		}
		if want := map[Sort]int{Strict: 2, Calm: 2, Mixed: 2, Endless: 2, Breaking: 2}; !reflect.DeepEqual(seen, want) {
			t.Errorf("seed %d: got %v, want %v", seed, seen, want)
		}
	}
}

func TestPlanOfFaults(t *testing.T) {
	t.Parallel()
	for n := range 100 {
		r := planFor(3, world.Ring).Round(n + 1)
		free := map[bool]time.Duration{} // from when on a lane is
		for i, f := range r.Faults {
			if f.Number != i+1 || f.At >= r.For || f.At < free[f.Worker] {
				t.Errorf("round %d of %v: fault %d is %v, in a lane that is free at %v", n, r.For, i+1, f, free[f.Worker])
			}
			free[f.Worker] = f.At + f.For
		}
		if len(free) != 2 && r.Sort != Calm {
			t.Errorf("round %d has faults of %d sorts, want some of workers and some of servers: %v", n, len(free), r.Faults)
		}
	}
}

// In so many rounds as there are cards each is dealt once.
func TestPlanDeals(t *testing.T) {
	t.Parallel()
	p := planFor(3, world.Single)
	loads := map[string]int{}
	main := map[string]int{}
	for n := range 12 * len(sorts) {
		r := p.Round(n + 1)
		if r.Sort == Mixed {
			loads[r.Load]++
		}
		i := slices.IndexFunc(r.Faults, func(f Fault) bool { return f.breaking() })
		if i >= 0 {
			main[r.Faults[i].Name]++
		}
		if r.Sort == Endless && r.Load != "sets" {
			t.Errorf("round %d: load %s in a round without end of leases", n+1, r.Load)
		}
	}
	if want := map[string]int{"sets": 4, "readers": 4, "queue": 4}; !reflect.DeepEqual(loads, want) {
		t.Errorf("got loads %v, want %v", loads, want)
	}
	if want := map[string]int{"flush": 6, "clock-ahead": 6}; !reflect.DeepEqual(main, want) {
		t.Errorf("got kinds that break promises %v, want %v", main, want)
	}
}

// Where no fault breaks a promise, and no load has leases without end, there are other rounds instead.
func TestPlanWithoutBreaches(t *testing.T) {
	t.Parallel()
	p := planFor(5, world.Single)
	p.Kinds = Kinds([]world.Nemesis{{Name: "cut"}})
	p.EndlessLoads, p.CalmLoads = nil, nil
	for n := 1; n <= 4; n++ {
		if r := p.Round(n); r.Sort == Breaking || r.Sort == Endless || r.Load == "" || len(r.Faults) == 0 {
			t.Errorf("round %d is %s with load %q and the faults %v", n, r.Sort, r.Load, r.Faults)
		}
	}
}
