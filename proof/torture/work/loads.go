package work

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// A Load is a named workload.
type Load struct {
	Name       string
	Topologies []world.Topology // on which it can be played
	// Endless says that its leases last for LongLease, so that none ends in a round, for the checker of linearizability. The
	// keys of a process that is killed stay locked then.
	Endless  bool
	Packages []history.Package // whose locks it obtains
	Ways     []history.Way     // how it waits
	Actions  []history.Action  // what it does in each round that is long enough
	Kinds    []history.Kind    // what else it writes down then
	WithSets []bool            // whether it calls WithSet with a token of the caller's choice, without one, or both
	Came     []history.Came    // how some of its locks come

	// crowd is how many callers a process has for each that its Config says; 0: one.
	crowd int
	// gentle says that nobody ends a context too soon, or waits for less than a turn takes: who waits for what is clear then.
	gentle bool

	step func(ctx context.Context, c *caller) // plays one lock, from before it is obtained until after it was released
}

// rough is in how many of a hundred cases the context of an operation ends too soon.
func (l Load) rough() int {
	switch {
	case l.gentle:
		return 0
	case l.Endless:
		return 2 // each outcome that is not known makes more orders possible
	}
	return 8
}

// The topologies on which a set of keys is in one place, and those on which it is not.
var (
	plainly  = []world.Topology{world.Single, world.Replicas, world.Sentinel, world.Cluster, world.Ring}
	quorums  = []world.Topology{world.Quorum3, world.Quorum5}
	anywhere = slices.Concat(plainly, quorums)
)

var everyWay = []history.Way{history.Once, history.Poll, history.Intent, history.Queue}

// changes are what a caller may do with any lock of package redislock.
var changes = []history.Action{
	history.Obtain, history.Refresh, history.Upgrade, history.Downgrade, history.ReleaseKeys, history.Release,
}

// Loads returns all of them.
func Loads() []Load {
	loads := []Load{
		{Name: "linear", Topologies: plainly[:1], Endless: true, Actions: changes, step: linear(false)},
		{
			Name: "linear-queue", Topologies: plainly[:1], Endless: true, Ways: []history.Way{history.Once, history.Queue},
			Actions: changes, step: linear(true),
		},
		{Name: "sets", Ways: everyWay, Actions: append(changes, history.Remaining), step: sets},
		{
			Name: "queue", Ways: everyWay[3:], Actions: []history.Action{history.Obtain, history.Release},
			Kinds: []history.Kind{history.Waiting}, step: queue,
		},
		{
			Name: "line", Ways: everyWay[3:], Actions: []history.Action{history.Obtain, history.Release},
			Kinds: []history.Kind{history.Waiting}, gentle: true, step: line,
		},
		{
			Name: "turns", Ways: everyWay[3:], Actions: []history.Action{history.Obtain, history.Release},
			Kinds: []history.Kind{history.Waiting}, Came: []history.Came{history.Carried}, crowd: 4, gentle: true, step: turns,
		},
		{
			Name: "pass-on", Ways: everyWay[3:], Actions: []history.Action{history.Obtain, history.Release},
			Kinds: []history.Kind{history.Waiting, history.Renewal}, Came: []history.Came{history.Carried, history.Passed},
			crowd: 4, gentle: true, step: passOn,
		},
		{
			Name: "watched", Actions: []history.Action{history.Obtain, history.Release}, Kinds: []history.Kind{history.Renewal},
			step: watched,
		},
		{Name: "crowd", Actions: []history.Action{history.Obtain, history.Release}, step: crowd},
		{
			Name: "watchdog", Ways: everyWay, Actions: []history.Action{history.Obtain, history.Refresh, history.Release},
			Kinds: []history.Kind{history.Renewal}, WithSets: []bool{false}, step: watchdog,
		},
		{Name: "overrun", Ways: everyWay, Actions: changes, Kinds: []history.Kind{history.Lost}, step: overrun},
		{
			Name: "fenced", Ways: everyWay,
			Actions: []history.Action{history.Obtain, history.Enter, history.RaiseFence, history.Upgrade, history.Release},
			step:    fenced,
		},
		{
			Name: "tokens", Ways: everyWay, Actions: append(changes, history.Attach, history.Remaining), WithSets: []bool{true},
			step: tokens,
		},
		{Name: "leave", Ways: everyWay, Actions: []history.Action{history.Obtain, history.Leave, history.Release}, step: endings},
		{
			Name: "break", Ways: everyWay,
			Actions: []history.Action{history.Obtain, history.Break, history.Inspect, history.Release},
			Kinds:   []history.Kind{history.Lost, history.Renewal}, step: breaking,
		},
		{
			Name: "reentrant", Packages: []history.Package{history.Reentrant}, Ways: everyWay,
			Actions: []history.Action{history.Obtain, history.Refresh, history.Release},
			Kinds:   []history.Kind{history.Renewal}, step: nested,
		},
		{
			Name: "multi", Topologies: anywhere, Packages: []history.Package{history.Multi},
			Ways:    []history.Way{history.Once, history.Poll, history.Queue},
			Actions: []history.Action{history.Obtain, history.Refresh, history.Remaining, history.Leave, history.Release},
			Kinds:   []history.Kind{history.Renewal}, step: parted,
		},
		{
			Name: "quorum", Topologies: quorums, Packages: []history.Package{history.Quorum}, Ways: everyWay[:2],
			Actions: []history.Action{
				history.Obtain, history.Refresh, history.Remaining, history.Leave, history.Release, history.Enter, history.Attach,
			},
			Kinds: []history.Kind{history.Renewal}, WithSets: []bool{false, true}, step: majorities,
		},
		{
			Name: "election", Topologies: anywhere, Packages: []history.Package{history.Election}, Ways: everyWay[3:],
			Actions: []history.Action{history.Obtain, history.Lead, history.Enter},
			Kinds:   []history.Kind{history.Renewal}, step: elected,
		},
		{Name: "everything", Ways: everyWay, Actions: append(changes, history.Enter, history.Leave), step: everything},
	}
	for i := range loads {
		l := &loads[i]
		if l.Topologies == nil {
			l.Topologies = plainly
		}
		if l.Packages == nil {
			l.Packages = []history.Package{history.Plain}
		}
		if l.Ways == nil {
			l.Ways = everyWay[:1]
		}
	}
	return loads
}

// find returns the load with this name.
func find(name string) (Load, error) {
	all := Loads()
	i := slices.IndexFunc(all, func(l Load) bool { return l.Name == name })
	if i < 0 {
		return Load{}, fmt.Errorf("work: there is no load %q", name)
	}
	return all[i], nil
}
