package lease

import (
	"cmp"
	"slices"

	"github.com/seed-14de3678/redislock/proof/models/explore"
)

// travels is what becomes of the requests of a client, paused or not.
func (m model) travels(s *state, who int, visit func(explore.Event, state)) {
	c := &s.client[who]
	if c.phase == asked {
		n := *s
		done, number := n.server.run(m, call{obtain, s.token(who)})
		if done { // one that is refused asks again
			h := &n.client[who]
			h.phase, h.number, h.hold = granted, number, n.server.holds
			visit(explore.Step("the server grants the lock to client %d, with number %d", who, int(number)), n)
		}
	}
	if c.freeing != 0 {
		n := *s
		n.client[who].freeing = 0
		n.server.run(m, call{release, c.freeing})
		visit(explore.Step("the server executes the release of client %d", who), n)
	}
	for i, r := range c.renewals {
		m.renews(s, who, i, r, visit)
	}
	for i, w := range c.sent {
		if w.stage != empty {
			m.arrives(s, who, i, visit)
		}
	}
}

// renews executes a renewal, or loses it or its answer.
func (m model) renews(s *state, who, i int, r renewal, visit func(explore.Event, state)) {
	if r.stage == empty {
		return
	}
	n := *s
	n.client[who].renewals[i] = renewal{}
	visit(explore.Step("a renewal of client %d is lost, or its answer", who), n)
	if r.stage == sent {
		n = *s
		if done, _ := n.server.run(m, call{refresh, r.token}); done {
			n.client[who].renewals[i].stage = executed
			visit(explore.Step("the server executes a renewal of client %d", who), n)
		}
	}
}

// arrives has a write come to the resource.
func (m model) arrives(s *state, who, i int, visit func(explore.Event, state)) {
	n := *s
	w := &n.client[who].sent[i]
	was := *w
	number := int(was.number)
	*w = write{}
	switch {
	case was.stage == sent && !n.resource.admits(m, was):
		n.wrong = n.resource.refuse(was)
		n.client[who].sort()
		visit(explore.Step("the resource refuses number %d of client %d", number, who), n)
		return
	case was.stage == sent && m.without == twoSteps:
		*w = was
		w.stage = executed
		n.client[who].sort()
		visit(explore.Step("the resource compares number %d of client %d", number, who), n)
		return
	}
	n.wrong = n.resource.take(was)
	n.client[who].sort()
	visit(explore.Step("the resource takes the write of number %d of client %d", number, who), n)
}

// sort puts the writes under way in an order, so that equal states are the same.
func (c *client) sort() {
	slices.SortFunc(c.sent[:], func(a, b write) int {
		return cmp.Or(cmp.Compare(b.stage, a.stage), cmp.Compare(a.number, b.number), cmp.Compare(a.hold, b.hold))
	})
}
