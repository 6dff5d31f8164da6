package renewal

import (
	"cmp"
	"slices"
)

const (
	handles  = 2
	requests = 4
)

// Who holds the key.
const (
	nobody int8 = iota
	ours
	theirs
)

// A server is what Redis has.
type server struct {
	owner int8
	till  int8 // the tick at which the lease ends
	guard int8 // of our owner: nothing below this number
}

type standing int8

const (
	unused standing = iota
	held
	released
	lost
)

// A handle is a Lock.
type handle struct {
	is       standing
	ttl      int8
	deadline int8 // 0: it knows of none
	longest  int8 // that it has asked for
	pending  int8 // the ttl that a Refresh asks for; 0: none is under way
	before   int8 // the deadline that it has lowered; 0: it has not
	told     int8 // how often it was told that it is lost
	clearing bool // a clean-up is to go on
	settled  bool // its Release was answered
}

type kind int8

const (
	none kind = iota
	renewal
	refresh
	release
	cleanup
)

type reply int8

const (
	flies reply = iota // it was not executed yet
	done
	notOurs
	overtaken
)

// A request is one that was sent.
type request struct {
	kind    kind
	handle  int8
	ttl     int8
	longer  bool // it shortens no lease
	number  int8
	stamped bool // it asks for the guard
	closes  bool // it sets one
	sent    int8
	stale   int8 // how many changes of the lease began or ended since it was sent, up to 2
	left    bool // its caller has gone
	reply   reply
}

// A budget is how often things may happen still.
type budget struct{ renewals, refreshes, losses int8 }

type state struct {
	now      int8
	server   server
	handles  [handles]handle
	requests [requests]request
	number   int8 // of the requests that are sent now
	open     int8 // the greatest number of one that was not answered; 0: there is none
	left     budget

	granted int8 // the end of the lease that somebody else was given
	freed   bool // a Release of ours was executed
}

func (m *program) start() (s state) {
	s.left, s.number = m.budget, 1
	s.server = server{owner: ours, till: m.ttl}
	s.handles[0] = handle{is: held, ttl: m.ttl, deadline: m.ttl, longest: m.ttl}
	if m.second {
		s.handles[1] = handle{is: held}
	}
	return s
}

// send puts a request on its way; false if there are too many already.
func (s *state) send(m *program, r request) bool {
	for i := range s.requests {
		if s.requests[i].kind != none {
			continue
		}
		if s.open == s.number {
			s.number++
		}
		lengthens := r.kind == renewal || r.kind == refresh && r.longer
		r.sent, r.number, r.closes = s.now, s.number, s.open > 0 && m.without != closes
		r.stamped = !lengthens || r.closes
		s.requests[i] = r
		s.settle()
		return true
	}
	return false
}

// settle brings the requests into one order.
func (s *state) settle() {
	slices.SortFunc(s.requests[:], func(a, b request) int { return cmp.Compare(b.rank(), a.rank()) })
}

// rank tells requests apart.
func (r request) rank() (rank int64) {
	for _, part := range []int8{int8(r.kind), r.handle, r.ttl, r.number, r.sent, r.stale, int8(r.reply)} {
		rank = rank<<4 | int64(part)
	}
	for _, is := range []bool{r.longer, r.stamped, r.closes, r.left} {
		if rank <<= 1; is {
			rank |= 1
		}
	}
	return rank
}

// change takes note that a change of the lease begins or ends.
func (s *state) change(h int8) {
	for i := range s.requests {
		if r := &s.requests[i]; r.kind != none && r.handle == h {
			r.stale = min(2, r.stale+1)
		}
	}
}

// unanswered takes note that nobody waits for the answer to a request any more.
func (s *state) unanswered(r request) {
	if lengthens := r.kind == renewal || r.kind == refresh && r.longer; !lengthens {
		s.open = max(s.open, r.number)
	}
}

// answered takes note of an answer, which tells that what the request closes has no effect any more.
func (s *state) answered(r request) {
	if r.reply != overtaken && r.closes && s.open < r.number {
		s.open = 0
	}
}
