package check_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/proof/torture/check"
)

// A defect is one of the simulated service, or of the library.
type defect string

const (
	none            defect = ""
	overlap         defect = "only the first key of a set is looked at"
	upgradeBeside   defect = "an upgrade does not look for other readers"
	earlyKept       defect = "keys that were left are free too early"
	staleNumber     defect = "a number is given twice"
	oldNumber       defect = "a resource takes every number"
	reorder         defect = "some go to the head of the line"
	lostWakeUp      defect = "a waiter is taken out of the line and told nothing"
	lateLoss        defect = "a loss is told late"
	silentLoss      defect = "a loss is not told"
	needlessLoss    defect = "a healthy lock is declared lost"
	staleAnswer     defect = "a free key is refused"
	needlessError   defect = "an obtain fails for nothing"
	needlessNotHeld defect = "a lock that is held is said not to be"
	lateTurn        defect = "some learn late that it is their turn"
)

// simBounds are those of simulations.
var simBounds = check.Bounds{Late: 200 * time.Millisecond, Progress: 20 * time.Second}

var profiles = []profile{
	{name: "calm", endless: true},
	{name: "calm line", endless: true, queues: true},
	{name: "leases"},
	{name: "kills", kills: true, queues: true},
	{name: "endless kills", kills: true, endless: true},
	{name: "stops", stops: true, queues: true},
	{name: "losses", losses: true},
	{name: "endless losses", losses: true, endless: true},
	{name: "breaks", breaks: true, endless: true},
	{name: "tokens", tokens: true},
	{name: "endless tokens", tokens: true, endless: true, breaks: true},
	{name: "election", election: true, stops: true, kills: true},
	{name: "everything", kills: true, stops: true, losses: true, breaks: true, tokens: true, election: true},
}

// skips are promises that the faults of a profile break: a lost request may be one that enters the line.
func skips(p profile) []check.Promise {
	if p.losses {
		return []check.Promise{check.Order}
	}
	return nil
}

// look has all checkers look at a simulation.
func look(s *simulation) (found []check.Finding, looked map[check.Promise]int) {
	b := simBounds
	b.Endless = s.profile.endless
	found, looked = run(&s.log, b)
	found = slices.DeleteFunc(found, func(f check.Finding) bool { return slices.Contains(skips(s.profile), f.Promise) })
	return found, looked
}

var seeds = flag.Int("seeds", 12, "how many rounds of each profile are simulated in which nothing is wrong")

// TestSound shows that nothing is found where nothing is wrong.
func TestSound(t *testing.T) {
	for _, p := range profiles {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			sum := map[check.Promise]int{}
			for seed := range *seeds {
				found, looked := look(simulate(uint64(seed), p, none))
				for promise, n := range looked {
					sum[promise] += n
				}
				if len(found) > 0 {
					t.Fatalf("seed %d: nothing is wrong, but found:\n%s", seed, lines(found))
				}
			}
			t.Log(fmt.Sprint(*seeds, " rounds: ", sum))
		})
	}
}

// A plant is a defect, where it is planted, and which promise it breaks.
type plant struct {
	defect  defect
	profile profile
	breaks  check.Promise
	also    []check.Promise // that may be broken by it, too
	least   int             // in how many of a hundred rounds in which it was planted it is found
	seeds   int
}

var plants = []plant{
	{overlap, profile{name: "leases"}, check.Exclusion, []check.Promise{check.Order, check.Prompt}, 90, 12},
	{overlap, profile{name: "kills", kills: true, queues: true}, check.Exclusion, []check.Promise{check.Order, check.Prompt}, 90, 12},
	{overlap, profile{name: "calm", endless: true}, check.Linear, []check.Promise{check.Exclusion, check.Order, check.Prompt}, 90, 8},
	{upgradeBeside, profile{name: "leases"}, check.Exclusion, nil, 90, 12},
	{upgradeBeside, profile{name: "calm", endless: true}, check.Linear, []check.Promise{check.Exclusion}, 90, 8},
	{earlyKept, profile{name: "leases"}, check.Exclusion, nil, 90, 12},
	{staleNumber, profile{name: "leases"}, check.Fencing, nil, 90, 12},
	{oldNumber, profile{name: "stops", stops: true}, check.Fencing, nil, 50, 60},
	{reorder, profile{name: "calm", endless: true, queues: true}, check.Order, []check.Promise{check.Prompt}, 90, 12},
	{reorder, profile{name: "kills", kills: true, queues: true}, check.Order, []check.Promise{check.Prompt}, 90, 12},
	{lostWakeUp, profile{name: "kills", kills: true, queues: true}, check.Progress, []check.Promise{check.Order, check.Answers, check.Prompt}, 25, 12},
	{lateTurn, profile{name: "calm", endless: true, queues: true}, check.Prompt, nil, 90, 12},
	{lateTurn, profile{name: "kills", kills: true, queues: true}, check.Prompt, nil, 50, 12},
	{lateLoss, profile{name: "leases"}, check.Losses, nil, 90, 12},
	{lateLoss, profile{name: "election", election: true, stops: true}, check.Losses, []check.Promise{check.Exclusion}, 50, 24},
	{silentLoss, profile{name: "stops", stops: true}, check.Losses, []check.Promise{check.Answers}, 50, 12},
	{needlessLoss, profile{name: "leases"}, check.Losses, []check.Promise{check.Answers}, 90, 12},
	{staleAnswer, profile{name: "calm", endless: true}, check.Answers, []check.Promise{check.Linear}, 5, 24},
	{staleAnswer, profile{name: "calm", endless: true}, check.Linear, []check.Promise{check.Answers}, 5, 24},
	{needlessError, profile{name: "leases"}, check.Answers, nil, 90, 12},
	{needlessNotHeld, profile{name: "leases"}, check.Answers, []check.Promise{check.Losses}, 90, 12},
}

// TestDefects shows that each defect is found, by the checker of what it breaks, and by no other than may see it as well.
func TestDefects(t *testing.T) {
	for _, p := range plants {
		t.Run(fmt.Sprintf("%s, %s, %s", p.defect, p.profile.name, p.breaks), func(t *testing.T) {
			t.Parallel()
			planted, rounds := 0, 0
			for seed := range p.seeds {
				s := simulate(uint64(seed), p.profile, p.defect)
				if s.planted > 0 {
					planted++
				}
				found, _ := look(s)
				isBroken := func(f check.Finding) bool { return f.Promise == p.breaks }
				if slices.ContainsFunc(found, isBroken) {
					rounds++
				}
				for _, f := range found {
					if s.planted == 0 || !isBroken(f) && !slices.Contains(p.also, f.Promise) {
						t.Errorf("seed %d: found %s", seed, f)
					}
				}
			}
			t.Logf("planted in %d of %d rounds, found in %d", planted, p.seeds, rounds)
			if planted == 0 || rounds == 0 || 100*rounds < p.least*planted {
				t.Errorf("planted in %d rounds, found in %d", planted, rounds)
			}
		})
	}
}
