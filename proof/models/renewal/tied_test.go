package renewal

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/proof/models/explore"
	"github.com/seed-14de3678/redislock/proof/models/tied"
)

// A ran is one run of a script: what the server has before, and the request.
type ran struct {
	m       *program
	before  server // the ends of leases are counted from now
	request request
}

// What the server of the model does, the model server does as well, and so the scripts do.
func TestTied(t *testing.T) {
	t.Parallel()
	runs := tied.NewTie[ran](20_000)
	for _, p := range shown("", func(m *program, before state, r request) { runs.Note(ranOf(m, before, r)) }) {
		p.Search(explore.FirstStates(40_000))
	}
	runs.Check(t, ran.tied, "refresh", "release")
}

// ranOf leaves out what scripts do not depend on.
func ranOf(m *program, before state, r request) ran {
	if before.server.owner != nobody {
		before.server.till -= before.now
	}
	return ran{m, before.server, request{
		kind: r.kind, ttl: r.ttl, longer: r.longer, number: r.number, stamped: r.stamped, closes: r.closes,
	}}
}

// now is the tick of each run, counted as a world does.
const now = 1

// tick is one of the model.
const tick = time.Second

func at(moment int8) time.Duration { return time.Duration(moment) * tick }

const key = "key"

var tokens = [...]string{ours: "ours", theirs: "theirs"}

// owner is the id by which guards know the owner: that of a token that callers know is another one than the token.
func (m *program) owner() string {
	if m.second {
		return "id of ours"
	}
	return tokens[ours]
}

// tied is the run as a case for the model server.
func (r ran) tied() tied.Case {
	after := state{now: now, server: r.before}
	if after.server.owner != nobody {
		after.server.till += now
	}
	old := at(now) + tied.GuardLife/2
	c := tied.Case{Before: r.m.world(after.server, old), Call: r.call()}
	request := r.request
	its := after.execute(r.m, &request)
	if request.closes && its != overtaken {
		old = at(now) + tied.GuardLife
	}
	c.Want = tied.Outcome{
		Reply: tied.Reply{Code: [...]proto.Code{done: proto.Done, notOurs: proto.NotYours, overtaken: proto.Overtaken}[its]},
		After: r.m.world(after.server, old),
	}
	if its == notOurs {
		c.Want.Reply.Missing = []string{key}
	}
	return c
}

// world is what the server has. A guard in it stands until a moment that the model does not know.
func (m *program) world(has server, guarded time.Duration) tied.World {
	w := tied.World{Now: at(now)}
	if has.owner != nobody {
		w.Holds = []tied.Hold{{Key: key, Token: tokens[has.owner], Mode: tied.Write, Until: at(has.till)}}
	}
	if has.guard > 0 {
		w.Guards = []tied.Guard{{Key: key, Owner: m.owner(), Number: numberOf(has.guard), Until: guarded}}
	}
	return w
}

// numberOf is a number of a request as a Client counts it: from 0.
func numberOf(n int8) int64 { return int64(n) - 1 }

// call is the request as a Client makes it.
func (r ran) call() tied.Call {
	set, its := tied.Set([]string{key}, nil, false), r.request
	c := tied.Call{Stamp: owners.Stamp{Numbered: its.stamped, Known: r.m.second, Name: owners.Name{Number: numberOf(its.number)}}}
	if r.m.second {
		c.Stamp.Name.ID = r.m.owner()
	}
	if its.closes {
		earlier := c.Stamp.Name
		earlier.Number--
		c.Stamp.Closes = []*owners.Sent{{Name: earlier, Home: set.Lines[0]}}
	}
	switch its.kind {
	case renewal, refresh:
		c.Request = proto.Refresh{Set: set, Value: &tokens[ours], TTL: at(its.ttl), NeverShortens: its.longer}
	default:
		c.Request = &proto.Release{Set: set, Value: &tokens[ours], Looks: its.kind == release}
	}
	return c
}
