package explore

import "fmt"

// A graph is which states lead to which, by their numbers.
type graph[E fmt.Stringer] struct {
	nodes []*node[E]
	edges [][2]int32
	ends  []int32 // where no step is possible, or where no step is taken because something is wrong
}

func (g *graph[E]) add(number int32, n *node[E], isEnd bool) {
	g.nodes = append(g.nodes, n)
	if isEnd {
		g.ends = append(g.ends, number)
	}
}

// note takes note of a step to the state with this number.
func (s *search[S, E]) note(number int32) {
	if s.system.Settles && len(s.graph.nodes) > 0 { // else it is the start
		s.graph.edges = append(s.graph.edges, [2]int32{s.from.number, number})
	}
}

// settles judges the first of the states from which no way leads to an end.
func (s *search[S, E]) settles() {
	g := &s.graph
	before := make([][]int32, len(g.nodes))
	for _, e := range g.edges {
		before[e[1]] = append(before[e[1]], e[0])
	}
	ended := make([]bool, len(g.nodes))
	for todo := g.ends; len(todo) > 0; {
		number := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !ended[number] {
			ended[number] = true
			todo = append(todo, before[number]...)
		}
	}
	for number, is := range ended {
		if !is {
			s.judge("no way leads to an end", g.nodes[number])
			return
		}
	}
}
