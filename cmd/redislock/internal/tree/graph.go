package tree

import "slices"

// A graph has nodes 0 to n-1. Some of them belong to somebody, others only pass on from one to the next.
type graph struct {
	next [][]int
	who  []int // to whom a node belongs; nobody: it only passes on
}

const nobody = -1

func (g *graph) add(who int) int {
	g.next, g.who = append(g.next, nil), append(g.who, who)
	return len(g.who) - 1
}

func (g *graph) edge(from, to int) { g.next[from] = append(g.next[from], to) }

// components returns for each node the number of its strongly connected component, and the nodes of those components that have
// more than one. It is Tarjan's algorithm. It goes down whole lines, for which Go makes the stack longer: up to two million nodes,
// which are more waiters than a server has.
func (g *graph) components() (of []int, circles [][]int) {
	n := len(g.next)
	of = make([]int, n)
	order, low := make([]int, n), make([]int, n) // from 1
	var open []int
	seen, count := 0, 0
	var visit func(node int)
	visit = func(node int) {
		seen++
		order[node], low[node], of[node] = seen, seen, nobody
		at := len(open)
		open = append(open, node)
		for _, to := range g.next[node] {
			if order[to] == 0 {
				visit(to)
				low[node] = min(low[node], low[to])
			} else if of[to] == nobody {
				low[node] = min(low[node], order[to])
			}
		}
		if low[node] < order[node] {
			return
		}
		nodes := slices.Sorted(slices.Values(open[at:]))
		for _, one := range nodes {
			of[one] = count
		}
		if open, count = open[:at], count+1; len(nodes) > 1 {
			circles = append(circles, nodes)
		}
	}
	for root := range n {
		if order[root] == 0 {
			visit(root)
		}
	}
	return of, circles
}

// round finds a shortest way from a node back to it, through nodes of its component alone, that meets somebody else. The
// nodes that belong to somebody count, the others do not. The way begins with start, which is not repeated at its end. It
// is nil if there is none.
//
// The search keeps two states of a node: met with and without somebody else before. So a way may pass a node of
// nobody's twice: two readers of one key that both want to write it wait for each other by way of one node, its holders.
func (g *graph) round(start int, of []int) []int {
	from := make([]int, 2*len(g.next)) // of each state the one before it, from 1; 0: not met
	from[2*start] = -1
	near, far := []int{2 * start}, []int(nil)
	for len(near) > 0 {
		for len(near) > 0 {
			state := near[len(near)-1]
			near = near[:len(near)-1]
			for _, to := range g.next[state/2] {
				if of[to] != of[start] {
					continue
				}
				next := 2*to + state%2
				if who := g.who[to]; who != nobody && who != g.who[start] {
					next = 2*to + 1
				}
				switch {
				case next == 2*start+1:
					return wayTo(state, from)
				case from[next] != 0:
					continue
				case g.who[to] == nobody:
					near = append(near, next)
				default:
					far = append(far, next)
				}
				from[next] = state + 1
			}
		}
		near, far = far, nil
	}
	return nil
}

// wayTo follows the states back from the last one.
func wayTo(last int, from []int) []int {
	var way []int
	for state := last; state >= 0; state = from[state] - 1 {
		way = append(way, state/2)
	}
	slices.Reverse(way)
	return way
}
