package main

import (
	"cmp"
	"go/token"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
)

// A graph says which rooms need which.
type graph map[string]map[string]bool

func (g graph) add(from, to string) {
	for _, room := range []string{from, to} {
		if g[room] == nil {
			g[room] = map[string]bool{}
		}
	}
	if from != to {
		g[from][to] = true
	}
}

// rooms are all of them, in an order that does not change.
func (g graph) rooms() []string { return slices.Sorted(maps.Keys(g)) }

// needs are the root files: one needs another if it uses a name, a field or a method that is declared there.
func (t *tree) needs() graph {
	g := graph{}
	for name := range t.files {
		g.add(name, name)
	}
	for use, object := range t.uses {
		if object.Pkg() == t.types && object.Pos().IsValid() {
			g.add(t.fileOf(use.Pos()), t.fileOf(object.Pos()))
		}
	}
	return g
}

// knots are the strongly connected components: rooms that all need one another, by whatever way. The largest comes first.
func (g graph) knots() [][]string {
	var (
		knots [][]string
		stack []string
		index = map[string]int{} // from 1, in the order of the visit
		low   = map[string]int{}
		on    = map[string]bool{}
		visit func(room string)
	)
	visit = func(room string) {
		index[room] = len(index) + 1
		low[room], on[room] = index[room], true
		stack = append(stack, room)
		for _, next := range slices.Sorted(maps.Keys(g[room])) {
			if index[next] == 0 {
				visit(next)
				low[room] = min(low[room], low[next])
			} else if on[next] {
				low[room] = min(low[room], index[next])
			}
		}
		if low[room] == index[room] {
			at := slices.Index(stack, room)
			knot := slices.Clone(stack[at:])
			for _, member := range knot {
				on[member] = false
			}
			stack = stack[:at]
			slices.Sort(knot)
			knots = append(knots, knot)
		}
	}
	for _, room := range g.rooms() {
		if index[room] == 0 {
			visit(room)
		}
	}
	slices.SortStableFunc(knots, func(a, b []string) int { return len(b) - len(a) })
	return knots
}

// tries is from how many orders the search for a good one begins.
const tries = 50

// back counts the arrows that run back up in a house that has as few of them as the search finds, and its floors: each room stands
// above all that it needs, by arrows that do not run back. The search finds the same in each run.
func (g graph) back() (arrows, floors int) {
	random := rand.New(rand.NewPCG(1, 2))
	rooms := g.rooms()
	for try := range tries {
		order := slices.Clone(rooms)
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		g.improve(order)
		a, f := g.against(order)
		if try == 0 || cmp.Or(a-arrows, f-floors) < 0 {
			arrows, floors = a, f
		}
	}
	return arrows, floors
}

// against counts the arrows that run back up, and the floors, if rooms have this order, the highest first.
func (g graph) against(order []string) (arrows, floors int) {
	floor := map[string]int{}
	for _, room := range slices.Backward(order) {
		at := 1
		for other := range g[room] {
			if floor[other] == 0 { // it comes later
				arrows++
			}
			at = max(at, floor[other]+1)
		}
		floor[room] = at
		floors = max(floors, at)
	}
	return arrows, floors
}

// improve moves one room at a time to where fewer arrows run back, until no move helps.
func (g graph) improve(order []string) {
	for better := true; better; {
		better = false
		for _, room := range g.rooms() {
			from := slices.Index(order, room)
			to, most := from, 0
			for _, step := range []int{-1, 1} {
				gain := 0
				for at := from + step; at >= 0 && at < len(order); at += step {
					if gain += g.gain(room, order[at], step); gain > most {
						to, most = at, gain
					}
				}
			}
			if most > 0 {
				_ = slices.Insert(slices.Delete(order, from, from+1), to, room) // in place: it is as long as it was
				better = true
			}
		}
	}
}

// gain is by how much fewer arrows run back if a room passes another one: to the front if step is negative.
func (g graph) gain(room, other string, step int) (n int) {
	if g[room][other] {
		n -= step
	}
	if g[other][room] {
		n += step
	}
	return n
}

// largest is the size of the largest knot.
func (g graph) largest() int {
	if knots := g.knots(); len(knots) > 0 {
		return len(knots[0])
	}
	return 0
}

// fileOf is the name of the file of the root package that a place is in.
func (t *tree) fileOf(at token.Pos) string { return filepath.Base(t.set.Position(at).Filename) }
