package redlock

import "github.com/seed-14de3678/redislock/proof/models/explore"

// A node is one server.
type node struct {
	holder int8 // the client that has the key, from 1; 0: nobody
	left   int8 // of its lease, in ticks
	young  int8 // for so many ticks it grants nothing, because it has restarted
	last   int8 // the greatest number that it has stored
	ahead  int8 // by how much its clock is ahead
	down   bool
}

// A script is one that a node executes.
type script int8

const (
	obtain script = iota
	refresh
	raise
	release
)

// A call is one run of a script.
type call struct {
	script script
	who    int8
	number int8 // that the number of the hold is raised to
}

// run executes a script at a node, and returns whether it has done what it is for.
func (s *state) run(m model, n *node, c call) (done bool) {
	if m.ran != nil {
		m.ran(m, *n, s.clock, c)
	}
	return s.execute(m, n, c)
}

func (s *state) execute(m model, n *node, c call) (done bool) {
	if c.script == obtain {
		return s.obtains(m, n, c.who)
	}
	if n.holder != c.who+1 {
		return false
	}
	switch c.script {
	case refresh:
		n.left = m.life
	case raise:
		n.last = max(n.last, c.number)
	case release:
		n.holder, n.left = 0, 0
	}
	return true
}

// obtains gives a client the key of a node, if nobody has it, and the node has not just restarted.
func (s *state) obtains(m model, n *node, who int8) (done bool) {
	if n.holder != 0 || n.young > 0 {
		return false
	}
	n.holder, n.left = who+1, m.life
	if m.fenced {
		s.clock++
		n.last = max(s.clock+n.ahead, n.last+1)
	}
	return true
}

// executes visits what becomes of the requests under way at a node.
func (m model) executes(s *state, i, who int, visit func(explore.Event, state)) {
	n := *s
	node, c := &n.column[i].node, &n.column[i].cell[who]
	its := call{who: int8(who)}
	var said string
	switch c.stage {
	case asks, strays:
		said = "node %d grants the lock to client %d"
		if !m.grants(&n, node, c, who) {
			said = "node %d refuses client %d"
		}
	case renews:
		said = "node %d renews the lease of client %d"
		its.script = refresh
		if c.stage = renewed; !n.run(m, node, its) {
			said = "node %d does not know client %d any more"
			*c = cell{stage: refused}
		}
	case raises:
		said = "node %d stores the number of client %d"
		its.script, its.number = raise, n.client[who].number
		if c.stage = has; !n.run(m, node, its) {
			said = "node %d does not know client %d any more"
			*c = cell{stage: refused}
		}
	case frees:
		said = "node %d frees the key of client %d"
		*c = cell{}
		its.script = release
		n.run(m, node, its)
	default:
		return
	}
	n.sort(m)
	visit(explore.Step(said, i, who), n)
}

// grants has a client ask a node, and reports whether it was given the key.
func (m model) grants(s *state, node *node, c *cell, who int) bool {
	known := c.stage == asks
	if !s.run(m, node, call{script: obtain, who: int8(who)}) {
		c.stage = nothing
		if known {
			*c = cell{stage: refused}
		}
		return false
	}
	if *c = (cell{}); known {
		*c = cell{stage: granted, age: c.age}
	}
	if m.fenced {
		c.number = node.last
	}
	if m.quick && known {
		m.joins(s, c, who)
	}
	return true
}

// faults are those of a node.
func (m model) faults(s *state, i int, visit func(explore.Event, state)) {
	was := &s.column[i].node
	if s.failures > 0 {
		n := *s
		n.failures--
		n.column[i].node.down = true
		n.sort(m)
		visit(explore.Step("node %d goes down", i), n)
	}
	if s.jumps > 0 && was.holder != 0 {
		n := *s
		n.jumps--
		node := &n.column[i].node
		node.holder, node.left = 0, 0
		if m.fenced {
			node.ahead += 3
		}
		n.sort(m)
		visit(explore.Step("the clock of node %d jumps ahead, and its lease is over", i), n)
	}
	if s.crashes > 0 && (was.holder != 0 || was.last != 0) {
		n := *s
		n.crashes--
		young := m.life
		if m.without == noWait {
			young = 0
		}
		n.column[i].node = node{young: young, ahead: was.ahead}
		n.sort(m)
		visit(explore.Step("node %d restarts without its data", i), n)
	}
}
