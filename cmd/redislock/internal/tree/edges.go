package tree

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// An edge says that a party waits for another one because of a key. It is an object of --json.
type edge struct {
	Type string `json:"type"` // edge
	From string `json:"from"`
	To   string `json:"to,omitempty"` // absent: whoever held the key has left it
	cli.KeyName
	Why   string         `json:"why"`  // held, left or line
	Mode  redislock.Mode `json:"mode"` // in which the other party has the key, or wants it
	TTL   int64          `json:"ttl_ms,omitempty"`
	Held  *string        `json:"held_since,omitempty"`
	Wants redislock.Mode `json:"wants"`
	Place int            `json:"place,omitempty"` // absent: an intent
	Since *string        `json:"since,omitempty"`

	joint
}

// A joint is between whom an edge is; to is nobody if the key was left.
type joint struct{ from, to, state int }

// partyID is how a program tells a party from others.
func partyID(p int) string { return fmt.Sprint("p", p+1) }

// edges are who waits for whom, without what follows from the others: of those who stand in a line only the first ones are
// said to wait for the holders, and each of the others for those right before it. So there are not many more than waiters
// and holders.
func (m *model) edges() (all []edge) {
	for _, line := range m.lines {
		last := 0 // the last writer so far: behind it are readers alone
		for i, s := range line {
			all = append(all, m.edgesOf(s, line[last:i])...)
			if s.mode == redislock.ModeWrite {
				last = i
			}
		}
	}
	return all
}

// edgesOf are those of one who stands behind a writer and readers, or readers alone.
func (m *model) edgesOf(s stand, before []stand) (some []edge) {
	key, r := &m.states[s.state], &m.requests[s.request]
	e := edge{
		Type: "edge", From: partyID(r.party), KeyName: cli.NameOf(key.Key), Why: "line", Wants: s.mode, Place: s.place, Since: cli.Moment(r.since),
		joint: joint{from: r.party, state: s.state},
	}
	add := func(to int) {
		if e.to, e.To = to, ""; to != nobody {
			e.To = partyID(to)
		}
		some = append(some, e)
	}
	isBehindWriter := len(before) > 0 && before[0].mode == redislock.ModeWrite
	switch {
	case s.mode == redislock.ModeWrite && isBehindWriter && len(before) > 1:
		before = before[1:] // the readers, which wait for the writer
	case s.mode == redislock.ModeRead && isBehindWriter:
		before = before[:1]
	case s.mode == redislock.ModeRead:
		before = nil
	}
	for _, other := range before {
		e.Mode = other.mode
		add(m.requests[other.request].party)
	}
	if isBehindWriter || !m.isHeldAgainst(s.state, s.mode) || len(before) > 0 && key.Mode == redislock.ModeWrite {
		return some
	}
	for h, p := range m.holders[s.state] {
		e.Why, e.Mode, e.TTL, e.Held = "held", key.Mode, key.Holders[h].TTL.Milliseconds(), cli.Moment(key.Holders[h].Since)
		if p == nobody {
			e.Why = "left"
		}
		add(p)
	}
	return some
}

// joined are the parties that are in an edge, in order.
func joined(edges []edge) []int {
	is := map[int]bool{}
	for _, e := range edges {
		is[e.from], is[e.to] = true, true
	}
	delete(is, nobody)
	return slices.Sorted(maps.Keys(is))
}
