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
// have the token with which its party holds the key: then nobody in the line is in its way.
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
	holders := nobody
	// wait has a request wait for the holders, and for everybody that a node of the line leads to.
	wait := func(q int, mode redislock.Mode, ahead int) {
		node := g.at(q, state)
		if m.isHeldAgainst(state, mode) {
			if holders == nobody {
				holders = g.addHolders(state)
			}
			g.edge(node, holders)
		}
		if ahead != nobody && (!g.certain || !m.isPerhapsOwn(q, state)) {
			g.edge(node, ahead)
		}
	}
	all, writers := nobody, nobody // those so far in the line, and those of them that are to write
	for w, q := range m.line[state] {
		if q == nobody {
			continue
		}
		door, mode := g.door(q, state), m.states[state].Line[w].Mode
		if mode == redislock.ModeWrite {
			wait(q, mode, all)
			writers = g.link(door, writers, state)
		} else {
			wait(q, mode, writers)
		}
		all = g.link(door, all, state)
	}
	if q := m.intents[state]; q != nobody {
		wait(q, redislock.ModeWrite, all)
	}
}

// addHolders makes the node of the holders of a key.
func (g *waits) addHolders(state int) int {
	node := g.node(nobody, nobody, state)
	for _, p := range g.model.holders[state] {
		if p != nobody {
			g.edge(node, g.party[p])
		}
	}
	return node
}

// door makes a node that leads to a waiter: what makes the way through a line longer.
func (g *waits) door(q, state int) int {
	node := g.node(g.model.requests[q].party, nobody, state)
	g.edge(node, g.at(q, state))
	return node
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
