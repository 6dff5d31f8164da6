package redlock

import "slices"

const (
	clients = 2
	most    = 5 // nodes
)

// A state is everything at one moment.
type state struct {
	column [most]column // sorted
	client [clients]client
	top    int8 // the greatest number of a lock that was returned
	clock  int8 // of every node whose clock is right; it goes on with each grant
	wrong  bool // a number has not grown

	crashes  int8 // that may yet come
	jumps    int8
	failures int8
}

// A column is one node, and what the clients have to do with it.
type column struct {
	node node
	cell [clients]cell
}

// A cell is what a client has to do with a node.
type cell struct {
	stage  stage
	age    int8 // of the request under way, in ticks
	left   int8 // of the lease at this node, as far as the client knows
	number int8 // that the node has given
}

// A stage is how far that is.
type stage int8

const (
	nothing stage = iota
	asks          // an Obtain is under way
	granted       // its answer is under way
	refused
	has
	renews  // and a renewal is under way
	renewed // and its answer is
	raises  // and the number is to be written back
	frees   // a release is under way, which nothing loses
	strays  // an Obtain is under way, of which the client knows nothing any more
)

// A client is one process.
type client struct {
	phase     phase
	attempts  int8 // that it may yet make
	number    int8 // of its lock
	floor     int8 // what that has to be greater than
	refreshed bool // a renewal was answered
	obtained  bool // it has had the lock
}

// A phase is how far a client is with its lock.
type phase int8

const (
	idle phase = iota
	asking
	raising
	holds
)

// start is the state in which a model begins.
func (m model) start() state {
	s := state{crashes: m.crashes, jumps: m.jumps, failures: m.failures}
	for i := range s.client {
		s.client[i].attempts = m.attempts[i]
	}
	for i, ahead := range m.ahead {
		s.column[i].node.ahead = ahead
	}
	s.sort(m)
	return s
}

// sort puts the nodes in an order, so that equal states are the same.
func (s *state) sort(m model) {
	var codes [most]code
	for i := range s.column[:m.nodes] {
		codes[i] = s.column[i].code()
		for ; i > 0 && codes[i].less(codes[i-1]); i-- {
			codes[i], codes[i-1] = codes[i-1], codes[i]
			s.column[i], s.column[i-1] = s.column[i-1], s.column[i]
		}
	}
}

// A code is a column as two numbers.
type code [2]uint64

func (c code) less(other code) bool {
	return c[0] < other[0] || c[0] == other[0] && c[1] < other[1]
}

func (c *column) code() code {
	n, one, two := &c.node, &c.cell[0], &c.cell[1]
	down := int8(0)
	if n.down {
		down = 1
	}
	return code{
		bytes(n.holder, n.left, n.young, n.last, n.ahead, down),
		bytes(int8(one.stage), one.age, one.left, one.number, int8(two.stage), two.age, two.left, two.number),
	}
}

// bytes are up to eight small numbers as one.
func bytes(all ...int8) (sum uint64) {
	for _, each := range all {
		sum = sum<<8 | uint64(uint8(each))
	}
	return sum
}

// count returns how many nodes are at one of some stages with a client.
func (s *state) count(who int, stages ...stage) int {
	n := 0
	for i := range s.column {
		if slices.Contains(stages, s.column[i].cell[who].stage) {
			n++
		}
	}
	return n
}

// left returns how much time a client has its lock for: as long as a majority of its leases runs.
func (s *state) left(m model, who int) int8 {
	var room [most]int8
	leases := room[:0]
	for i := range s.column[:m.nodes] {
		if c := &s.column[i].cell[who]; c.holds() {
			leases = append(leases, c.left)
		}
	}
	need := m.need()
	if m.without == fewRenewed && s.client[who].refreshed {
		need--
	}
	if len(leases) < need {
		return 0
	}
	slices.Sort(leases)
	return leases[len(leases)-need]
}

// holds reports whether the client has the lock at this node, as far as it knows.
func (c *cell) holds() bool {
	return c.stage == has || c.stage == renews || c.stage == renewed || c.stage == raises
}

// check says what is wrong with a state.
func (m model) check(s state) string {
	if s.wrong {
		return "the number of a lock is not greater than that of a lock before it"
	}
	if m.life > 0 && s.isHeld(m, 0) && s.isHeld(m, 1) {
		return "two windows overlap"
	}
	return ""
}

// isHeld reports whether a client is in its window.
func (s *state) isHeld(m model, who int) bool {
	return s.client[who].phase == holds && s.left(m, who) > 0
}

// end says what is wrong at the end.
func (m model) end(s state) string {
	for i := range s.column[:m.nodes] {
		if n := &s.column[i].node; n.holder != 0 && !n.down {
			return "a node is locked by nobody"
		}
	}
	if m.patient && m.attempts[1] == 0 && !s.client[0].obtained {
		return "the only client has not obtained the lock"
	}
	return ""
}
