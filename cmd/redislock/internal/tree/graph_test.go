package tree

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// randomGraph has up to eight nodes of up to three parties, and nodes of nobody.
func randomGraph(r *rand.Rand) *graph {
	g := &graph{}
	n := 1 + r.IntN(8)
	for range n {
		g.add(r.IntN(4) - 1)
	}
	for range r.IntN(2 * n) {
		g.edge(r.IntN(n), r.IntN(n))
	}
	return g
}

// reaches says from where one can get where, by one edge at least.
func reaches(g *graph) [][]bool {
	n := len(g.next)
	is := make([][]bool, n)
	for i := range is {
		is[i] = make([]bool, n)
		for _, to := range g.next[i] {
			is[i][to] = true
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				is[i][j] = is[i][j] || is[i][k] && is[k][j]
			}
		}
	}
	return is
}

func TestComponents(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 1)))
		of, circles := g.components()
		is := reaches(g)
		for i := range of {
			isTold := slices.ContainsFunc(circles, func(nodes []int) bool { return slices.Contains(nodes, i) })
			if hasOthers := slices.Index(of, of[i]) < i || slices.Contains(of[i+1:], of[i]); of[i] < 0 || isTold != hasOthers {
				t.Fatalf("seed %d: node %d is in component %d of %v, and these have more than one: %v", seed, i, of[i], of, circles)
			}
			for j := range of {
				if got, want := of[i] == of[j], i == j || is[i][j] && is[j][i]; got != want {
					t.Fatalf("seed %d: nodes %d and %d in one component: %t, want %t, in %v", seed, i, j, got, want, g.next)
				}
			}
		}
	}
}

// cheapest is how many nodes of somebody the shortest round from start has; -1: there is none. It goes over all edges until
// nothing changes.
func cheapest(g *graph, start int, of []int) int {
	const far = 1 << 20
	n := len(g.next)
	cost := make([]int, 2*n)
	for i := range cost {
		cost[i] = far
	}
	cost[2*start] = 0
	best := far
	for range 2*n + 1 {
		for node := range n {
			for away := range 2 {
				for _, to := range g.next[node] {
					if of[to] != of[start] || cost[2*node+away] == far {
						continue
					}
					after, price := away, cost[2*node+away]
					if g.who[to] != nobody {
						price++
						if g.who[to] != g.who[start] {
							after = 1
						}
					}
					if to == start && after == 1 {
						best = min(best, price)
					}
					cost[2*to+after] = min(cost[2*to+after], price)
				}
			}
		}
	}
	if best == far {
		return -1
	}
	return best
}

func TestRound(t *testing.T) {
	t.Parallel()
	found := 0
	for seed := range uint64(5000) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 2)))
		of, _ := g.components()
		for start := range g.next {
			if g.who[start] == nobody {
				continue
			}
			way, want := g.round(start, of), cheapest(g, start, of)
			if way == nil && want == -1 {
				continue
			}
			found++
			somebody, others := 0, 0
			for i, node := range way {
				if !slices.Contains(g.next[node], way[(i+1)%len(way)]) {
					t.Fatalf("seed %d: %v is no way in %v", seed, way, g.next)
				}
				if g.who[node] != nobody {
					somebody++
				}
				if g.who[node] != nobody && g.who[node] != g.who[start] {
					others++
				}
			}
			if somebody != want || others == 0 || way[0] != start {
				t.Fatalf("seed %d: round %v from %d of %v, who %v: want %d nodes of somebody", seed, way, start, g.next, g.who, want)
			}
		}
	}
	if found < 100 {
		t.Errorf("%d rounds in all: the graphs are too small", found)
	}
}

// A long chain needs no time that grows with its square, and there is a stack for it.
func TestComponentsOfChain(t *testing.T) {
	t.Parallel()
	g := &graph{}
	const n = 200_000
	for range n {
		g.add(0)
	}
	for i := range n {
		g.edge(i, (i+1)%n)
	}
	if _, circles := g.components(); len(circles) != 1 || len(circles[0]) != n {
		t.Errorf("a ring has the circles %.100v", circles)
	}
}

// behind returns every node from which one of these can be reached, these among them.
func (g *graph) behind(nodes []int) []int {
	before := make([][]int, len(g.next))
	for node, next := range g.next {
		for _, to := range next {
			before[to] = append(before[to], node)
		}
	}
	seen := make([]bool, len(g.next))
	for _, node := range nodes {
		seen[node] = true
	}
	found := slices.Clone(nodes)
	for i := 0; i < len(found); i++ {
		for _, node := range before[found[i]] {
			if !seen[node] {
				seen[node] = true
				found = append(found, node)
			}
		}
	}
	return found
}
