package tree

import (
	"cmp"
	"time"

	"github.com/seed-14de3678/redislock"
)

// An edge says that a party waits for another one because of a key.
type edge struct {
	from, to  int // parties; to is nobody if the key was left
	state     int
	held      bool           // the other party holds the key; else it stands in line before this one
	mode      redislock.Mode // in which the other party has the key, or wants it
	wants     redislock.Mode // in which this one wants it
	since     time.Time      // zero for an intent
	place     int            // in line, from 1; 0: an intent
	ttl       time.Duration  // of the lease, if held
	heldSince time.Time      // zero: not held, or not known
}

// edges are who waits for whom, without what follows from the others: of those who stand in a line only the first ones are
// said to wait for the holders, and each of the others for those right before it. So there are not many more than waiters
// and holders.
func (m *model) edges() []edge {
	var all []edge
	for state := range m.states {
		l := lining{model: m, state: state, edges: all, writer: nobody}
		for w, q := range m.line[state] {
			if q != nobody {
				l.add(w, q)
			}
		}
		if q := m.intents[state]; q != nobody {
			l.wait(edge{from: m.requests[q].party, state: state, wants: redislock.ModeWrite})
		}
		all = l.edges
	}
	return all
}

// A lining goes through the line of one key.
type lining struct {
	*model
	state   int
	edges   []edge
	writer  int   // the last one so far, as an index in the line
	readers []int // behind it
}

func (l *lining) add(w, q int) {
	waiter := l.states[l.state].Line[w]
	l.wait(edge{from: l.requests[q].party, state: l.state, wants: waiter.Mode, since: waiter.Since, place: w + 1})
	if waiter.Mode == redislock.ModeWrite {
		l.writer, l.readers = w, nil
	} else {
		l.readers = append(l.readers, w)
	}
}

// wait adds edges to those that a request waits for, unless one of them waits for these itself.
func (l *lining) wait(e edge) {
	writes := e.wants == redislock.ModeWrite
	if writes {
		for _, w := range l.readers {
			l.ahead(e, w)
		}
	}
	if l.writer != nobody && (!writes || len(l.readers) == 0) {
		l.ahead(e, l.writer)
	}
	isWritten := l.states[l.state].Mode == redislock.ModeWrite
	if l.writer == nobody && l.isHeldAgainst(l.state, e.wants) && (!writes || len(l.readers) == 0 || !isWritten) {
		l.held(e)
	}
}

func (l *lining) ahead(e edge, w int) {
	e.to, e.mode = l.requests[l.line[l.state][w]].party, l.states[l.state].Line[w].Mode
	l.edges = append(l.edges, e)
}

func (l *lining) held(e edge) {
	s := &l.states[l.state]
	for h, p := range l.holders[l.state] {
		e.to, e.held, e.mode, e.ttl, e.heldSince = p, true, s.Mode, s.Holders[h].TTL, s.Holders[h].Since
		l.edges = append(l.edges, e)
	}
}

// circled are the edges of certain deadlocks and of possible ones: what they join, and the number of the deadlock.
func (v *view) circled() map[circleEdge]int {
	all := map[circleEdge]int{}
	for i := range v.deadlocks {
		for s, next := range v.deadlocks[i].links() {
			if e := (circleEdge{s.party, next.party, s.state}); all[e] == 0 {
				all[e] = i + 1
			}
		}
	}
	return all
}

// A circleEdge is a step of a deadlock.
type circleEdge struct{ from, to, state int }

func (e circleEdge) compare(other circleEdge) int {
	return cmp.Or(cmp.Compare(e.from, other.from), cmp.Compare(e.to, other.to), cmp.Compare(e.state, other.state))
}
