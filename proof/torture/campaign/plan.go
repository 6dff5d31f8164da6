package campaign

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/proof/random"
	"github.com/seed-14de3678/redislock/proof/torture/check"
	"github.com/seed-14de3678/redislock/proof/torture/work"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// A Kind is what a plan knows of a fault: its name, which promises it may break, and whether it is done to a worker and not to
// the servers.
type Kind struct {
	Name   string
	Breaks []check.Promise
	Worker bool
}

// A Plan decides what every round of a campaign on one topology does. It depends on nothing but its fields.
type Plan struct {
	Seed     uint64
	Topology world.Topology
	Kinds    []Kind   // of faults, those of the workers too
	Loads    []string // of which each round has one

	EndlessLoads []string // the same for rounds in which no lease ends
	CalmLoads    []string // the same for rounds in which it is seen who comes next
}

// A Sort says which faults a round has, and so what can be checked.
type Sort string

// The sorts there are.
const (
	Strict   Sort = "strict"   // faults that break no promise, also at the same time
	Mixed    Sort = "mixed"    // also those that break nothing but the order of those who wait
	Endless  Sort = "endless"  // no lease ends, for the linear checker
	Calm     Sort = "calm"     // faults of workers alone, and a load in which many stand in line
	Breaking Sort = "breaking" // one kind of fault that breaks promises, and some of those in a mixed round
)

// calmLoads are those of calm rounds: their callers stand in line for so long that it is certain who came first.
var calmLoads = []string{"line", "turns", "pass-on"}

// sorts in the order in which rounds have them. Every topology begins somewhere else.
var sorts = []Sort{Mixed, Endless, Calm, Strict, Breaking}

// allowed are the promises that the faults of a round may break, except for those that it is about. What a killed process
// held ends with its lease, so the linear checker has no use for that.
var allowed = map[Sort][]check.Promise{
	Strict:   {check.Linear},
	Calm:     {check.Linear},
	Mixed:    {check.Linear, check.Order},
	Endless:  {check.Order},
	Breaking: {check.Linear, check.Order},
}

// A Round is what is done in one round.
type Round struct {
	Number    int
	Seed      uint64
	Topology  world.Topology
	Sort      Sort
	Load      string
	Processes int
	Clients   int           // of each process
	For       time.Duration // from the first operation until the last fault begins at the latest
	Faults    []Fault       // by At
}

// A Fault is one fault of a round.
type Fault struct {
	Kind
	Number int           // in its round, from 1
	At     time.Duration // after the beginning of the round
	For    time.Duration
	Seed   uint64 // of what the fault chooses
}

func (f Fault) String() string {
	return fmt.Sprintf("%d %s at %v for %v", f.Number, f.Name, f.At.Round(time.Millisecond), f.For.Round(time.Millisecond))
}

// Kinds are the kinds that a plan can have, given what the world can do and what is done to workers.
func Kinds(nemeses []world.Nemesis) []Kind {
	kinds := slices.Clone(workerKinds)
	for _, n := range nemeses {
		kinds = append(kinds, Kind{Name: n.Name, Breaks: n.Breaks})
	}
	return kinds
}

// Round returns the nth round, from 1.
func (p Plan) Round(n int) Round {
	sort, nth := p.sort(n)
	rng := p.rng("round", n)
	r := Round{
		Number: n, Seed: rng.Uint64(), Topology: p.Topology, Sort: sort,
		Processes: 2 + rng.IntN(3), Clients: 2 + rng.IntN(3),
		For: random.Between(rng, 7*time.Second, 11*time.Second),
	}
	if loads := p.loads(sort); len(loads) > 0 {
		r.Load = deal(p, "loads of "+string(sort), loads, nth)
	}
	main, others := p.choose(sort, nth)
	r.Faults = append(p.lane(rng, r.For, only(others, false), main), p.lane(rng, r.For, only(others, true), nil)...)
	slices.SortStableFunc(r.Faults, func(a, b Fault) int { return int(a.At - b.At) })
	for i := range r.Faults {
		r.Faults[i].Number = i + 1
	}
	return r
}

// sort returns the sort of the nth round, and how many of that sort came before it.
func (p Plan) sort(n int) (sort Sort, nth int) {
	first := int(p.Seed%uint64(len(sorts))) + max(0, slices.Index(world.Topologies(), p.Topology))
	if p.Topology == world.Single {
		first = 0 // so that the first round is endless, which few other topologies have
	}
	for i := 1; i <= n; i++ {
		s := sorts[(first+i)%len(sorts)]
		if i == n {
			sort = s
		}
	}
	for i := 1; i < n; i++ {
		if sorts[(first+i)%len(sorts)] == sort {
			nth++
		}
	}
	if sort == Breaking && !slices.ContainsFunc(p.Kinds, Kind.breaking) || len(p.loads(sort)) == 0 {
		sort = Mixed
	}
	return sort, nth
}

// loads are those that fit.
func (p Plan) loads(sort Sort) []string {
	switch sort {
	case Endless:
		return p.EndlessLoads
	case Calm:
		return p.CalmLoads
	}
	return p.Loads
}

// choose returns the kind that the nth round of a sort is about, nil if there is none, and those beside it.
func (p Plan) choose(sort Sort, nth int) (main *Kind, others []Kind) {
	var breaking []Kind
	for _, k := range p.Kinds {
		switch {
		case k.breaking():
			breaking = append(breaking, k)
		case sort == Calm && (!k.Worker || nth%2 == 0): // every other round has no fault at all
		case !k.breaks(allowed[sort]):
			others = append(others, k)
		}
	}
	if sort == Breaking {
		k := deal(p, "breaking", breaking, nth)
		main = &k
	}
	return main, others
}

// breaking reports whether rounds of their own are about the kind.
func (k Kind) breaking() bool { return k.breaks(allowed[Mixed]) }

// breaks reports whether a promise may be broken that is not among these.
func (k Kind) breaks(allowed []check.Promise) bool {
	return slices.ContainsFunc(k.Breaks, func(p check.Promise) bool { return !slices.Contains(allowed, p) })
}

func only(kinds []Kind, worker bool) []Kind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k Kind) bool { return k.Worker != worker })
}

// lane returns faults one after the other. Half of them are of the main kind, if there is one.
func (p Plan) lane(rng *rand.Rand, length time.Duration, kinds []Kind, main *Kind) (faults []Fault) {
	if len(kinds) == 0 && main == nil {
		return nil
	}
	for at := random.Between(rng, 500*time.Millisecond, 1500*time.Millisecond); at < length; {
		var k Kind
		if main != nil && (len(kinds) == 0 || len(faults)%2 == 0) {
			k = *main
		} else {
			k = kinds[rng.IntN(len(kinds))]
		}
		f := Fault{Kind: k, At: at, For: k.lasts(rng), Seed: rng.Uint64()}
		faults = append(faults, f)
		at += f.For + random.Between(rng, 200*time.Millisecond, 2*time.Second)
	}
	return faults
}

// lasts returns for how long a fault lasts. Names say whether that is longer than a lease.
func (k Kind) lasts(rng *rand.Rand) time.Duration {
	switch {
	case hasWord(k.Name, "short"):
		return random.Between(rng, work.ShortLease/20, work.ShortLease/2)
	case hasWord(k.Name, "long"):
		return random.Between(rng, work.ShortLease*5/4, work.ShortLease*3)
	default:
		return random.Between(rng, work.ShortLease/6, work.ShortLease*5/2)
	}
}

// rng returns random numbers that nothing else in the plan has.
func (p Plan) rng(what string, n int) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %s %d", p.Topology, what, n)
	return rand.New(rand.NewPCG(p.Seed, h.Sum64()))
}

// deal returns the nth of cards that are shuffled, dealt until none is left, and shuffled again.
func deal[T any](p Plan, what string, cards []T, nth int) T {
	order := p.rng(what, nth/len(cards)).Perm(len(cards))
	return cards[order[nth%len(cards)]]
}
