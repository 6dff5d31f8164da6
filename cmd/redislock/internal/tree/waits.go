package tree

import (
	"github.com/seed-14de3678/redislock"
)

// waits is the graph of who waits for whom. Its nodes are requests, parties that hold something, and for each key its
// holders and those in its line up to some place: so it has not many more edges than there are waiters and holders, however
// long a line is.
type waits struct {
	graph
	model   *model
	certain bool
	request []int   // of each node; nobody if it is none
	state   []int   // of each node the key through which it leads; nobody if it leads through none
	party   []int   // the nodes of the parties: nobody's, so that a way through holders is shorter than one through a line
	stands  [][]int // the nodes of the requests, by their stands
}

// newWaits makes the graph. With certain it has only those edges that are certain. An edge from a party to its request is, if
// this party keeps what it holds until it has what it waits for. An edge to those before in line is, unless the request may
// have the token with which its party holds the key: then nobody in the line is in its way. If that is known there is none.
func newWaits(m *model, certain bool) *waits {
	g := &waits{model: m, certain: certain}
	for range m.parties {
		g.party = append(g.party, g.node(nobody, nobody, nobody))
	}
	for q := range m.requests {
		g.addRequest(q)
	}
	for p := range m.parties {
		for _, q := range m.parties[p].requests {
			if !certain || m.isOne(p) {
				g.edge(g.party[p], g.stands[q][0])
			}
		}
	}
	for state := range m.states {
		g.addKey(state)
	}
	return g
}

func (g *waits) node(who, request, state int) int {
	g.request, g.state = append(g.request, request), append(g.state, state)
	return g.add(who)
}

// addRequest makes the node of a request. If it has to be certain that what stands in several lines is one, each stand has
// a node of its own, unless it has a caller's id.
func (g *waits) addRequest(q int) {
	r := &g.model.requests[q]
	nodes := make([]int, len(r.stands))
	for i := range nodes {
		if i == 0 || g.certain && g.model.parties[r.party].caller == "" {
			nodes[i] = g.node(r.party, q, nobody)
		} else {
			nodes[i] = nodes[0]
		}
	}
	g.stands = append(g.stands, nodes)
}

// at returns the node of a request for one of its keys.
func (g *waits) at(q, state int) int {
	return g.stands[q][g.model.requests[q].at(state)]
}

// addKey adds everything that somebody waits for because of one key.
func (g *waits) addKey(state int) {
	m := g.model
	holders := g.node(nobody, nobody, state)
	for _, p := range m.holders[state] {
		if p != nobody {
			g.edge(holders, g.party[p])
		}
	}
	all, writers := nobody, nobody // those so far in the line, and those of them that are to write
	for _, s := range m.lines[state] {
		node, ahead := g.at(s.request, state), writers
		if s.mode == redislock.ModeWrite {
			ahead = all
		}
		if m.isHeldAgainst(state, s.mode) {
			g.edge(node, holders)
		}
		isOwn, isKnown := m.isPerhapsOwn(s.request, state)
		isFirst := isOwn && (isKnown || g.certain) // wherever it stands
		if ahead != nobody && !isFirst {
			g.edge(node, ahead)
		}
		door := g.node(m.requests[s.request].party, nobody, state) // it makes the way through a line longer
		g.edge(door, node)
		if s.mode == redislock.ModeWrite {
			writers = g.link(door, writers, state)
		}
		all = g.link(door, all, state)
	}
}

// link makes a node that leads to a waiter and to those before it.
func (g *waits) link(door, before, state int) int {
	node := g.node(nobody, nobody, state)
	g.edge(node, door)
	if before != nobody {
		g.edge(node, before)
	}
	return node
}
