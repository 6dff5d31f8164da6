package redlock

import "github.com/seed-14de3678/redislock/proof/models/explore"

// A node is one server.
type node struct {
	holder int8 // the client that has the key, from 1; 0: nobody
	left   int8 // of its lease, in ticks
	young  int8 // for so many ticks it is in quarantine
	last   int8 // the greatest number that it has stored
	ahead  int8 // by how much its clock is ahead
	down   bool
}

// free frees the key, if the client has it.
func (n *node) free(who int) {
	if n.holder == int8(who+1) {
		n.holder, n.left = 0, 0
	}
}

// executes visits what becomes of the requests under way at a node.
func (m model) executes(s *state, i, who int, visit func(explore.Event, state)) {
	n := *s
	node, c := &n.column[i].node, &n.column[i].cell[who]
	mine := node.holder == int8(who+1)
	var said string
	switch c.stage {
	case asks, strays:
		said = "node %d grants the lock to client %d"
		if !m.grants(&n, node, c, who) {
			said = "node %d refuses client %d"
		}
	case renews:
		said = "node %d renews the lease of client %d"
		if c.stage = renewed; !mine {
			said = "node %d does not know client %d any more"
			*c = cell{stage: refused}
		}
		if mine && m.life > 0 {
			node.left = m.life
		}
	case raises:
		said = "node %d stores the number of client %d"
		if c.stage = has; !mine {
			said = "node %d does not know client %d any more"
			*c = cell{stage: refused}
		}
		if mine {
			node.last = max(node.last, n.client[who].number)
		}
	case frees:
		said = "node %d frees the key of client %d"
		*c = cell{}
		node.free(who)
	default:
		return
	}
	n.sort(m)
	visit(explore.Step(said, i, who), n)
}

// grants gives a client the key of a node, if nobody has it, and the node is not in quarantine.
func (m model) grants(s *state, node *node, c *cell, who int) bool {
	known := c.stage == asks
	if node.holder != 0 || node.young > 0 {
		c.stage = nothing
		if known {
			*c = cell{stage: refused}
		}
		return false
	}
	node.holder, node.left = int8(who+1), m.life
	if *c = (cell{}); known {
		*c = cell{stage: granted, age: c.age}
	}
	if m.fenced {
		s.clock++
		node.last = max(s.clock+node.ahead, node.last+1)
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
		if m.without == noQuarantine {
			young = 0
		}
		n.column[i].node = node{young: young, ahead: was.ahead}
		n.sort(m)
		visit(explore.Step("node %d restarts without its data", i), n)
	}
}
