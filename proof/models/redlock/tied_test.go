package redlock

import (
	"slices"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/proof/models/explore"
	"github.com/seed-14de3678/redislock/proof/models/tied"
)

// A ran is one run of a script: what the node has before, what the clock of all nodes says that are right, and the call.
type ran struct {
	life       int8
	fenced     bool
	asksUptime bool // for how long the node has been up
	before     node
	clock      int8
	call       call
}

// What a node of the model does, the model server does as well, and so the scripts do.
func TestTied(t *testing.T) {
	t.Parallel()
	runs := tied.NewTie[ran](20_000)
	note := func(m model, before node, clock int8, c call) {
		if c.script != obtain {
			clock, before.ahead = 0, 0
		}
		runs.Note(ran{m.life, m.fenced, m.life > 0 && m.crashes > 0, before, clock, c})
	}
	for _, p := range shown(slices.Concat(windows(), fenced(), progress()), "", note) {
		p.Search(explore.FirstStates(20_000))
	}
	runs.Check(t, ran.tied, "obtain", "rw", "refresh", "raise", "release")
}

// tick is one of the model.
const tick = time.Second

// leased is how long a lease of so many ticks lasts. Where time does not pass none are counted.
func leased(ticks int8) time.Duration { return time.Duration(max(1, ticks)) * tick }

const key = "key"

var tokens = [clients]string{"client 0", "client 1"}

// tied is the run as a case for the model server.
func (r ran) tied() tied.Case {
	c := tied.Case{Before: r.world(&r.before), Call: r.request(), Coarse: tied.ByAnybody}
	if r.asksUptime { // a second more, because a server says for how many whole ones it has been up
		c.Up = time.Duration(r.life-r.before.young+1) * tick
	}
	after, s := r.before, state{clock: r.clock}
	done := s.execute(model{life: r.life, fenced: r.fenced}, &after, r.call)
	c.Want.After = r.world(&after)
	reply := &c.Want.Reply
	switch {
	case done:
		reply.Code = proto.Done
		if r.fenced && r.call.script == obtain {
			reply.Number = int64(after.last)
		}
	case r.call.script == obtain:
		reply.Code = proto.Refused
	default:
		reply.Code, reply.Missing = proto.NotYours, []string{key}
	}
	return c
}

// world is what a node has. Its clock says the number that comes next if none is stored.
func (r ran) world(n *node) tied.World {
	w := tied.World{Now: time.Duration(r.clock+1+n.ahead) * time.Microsecond}
	if n.holder > 0 {
		w.Holds = []tied.Hold{{Key: key, Token: tokens[n.holder-1], Mode: tied.Write, Until: leased(n.left)}}
	}
	if n.last > 0 {
		w.Numbers = []tied.Number{{Key: key, Last: int64(n.last)}}
	}
	return w
}

// request is the call as a Client makes it.
func (r ran) request() tied.Call {
	set, token, ttl := tied.Set([]string{key}, nil, r.fenced), &tokens[r.call.who], leased(r.life)
	switch r.call.script {
	case refresh:
		return tied.Call{Request: proto.Refresh{Set: set, Value: token, TTL: ttl, NeverShortens: true}}
	case raise:
		return tied.Call{Request: proto.Raise{Set: set, Value: token, TTL: ttl, Number: tied.NumberAt(int64(r.call.number))}}
	case release:
		return tied.Call{Request: &proto.Release{Set: set, Value: token, Looks: true}}
	}
	q := &proto.Obtain{Set: set, Value: token, TTL: ttl}
	if r.asksUptime {
		q.MinUptime = ttl
	}
	return tied.Call{Request: q}
}
