package redlock

// window returns how much is left of a lease whose request was sent so long ago.
func (m model) window(age int8) int8 {
	if m.without == fromEnd {
		return m.life
	}
	return max(0, m.life-age)
}

// tick lets time pass, at all nodes and clients alike.
func (s *state) tick(m model) {
	for i := range s.column[:m.nodes] {
		n := &s.column[i].node
		n.young = max(0, n.young-1)
		if n.left > 0 {
			if n.left--; n.left == 0 {
				n.holder = 0
			}
		}
		for who := range s.column[i].cell {
			s.column[i].cell[who].tick(m)
		}
	}
	s.sort(m)
}

// tick lets time pass for what a client has to do with a node. Where its lease is over it frees what may be left.
func (c *cell) tick(m model) {
	switch c.stage {
	case asks, granted, renews, renewed:
		c.age = min(c.age+1, m.life)
	}
	if c.holds() {
		if c.left--; c.left <= 0 {
			*c = cell{stage: frees}
		}
	}
}
