package lease

import (
	"fmt"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/proof/models/explore"
	"github.com/seed-14de3678/redislock/proof/models/tied"
)

// A ran is one run of a script: what the server has before, and the call.
type ran struct {
	fenced bool
	before server
	call   call
}

// What the server of the model does, the model server does as well, and so the scripts do. Locks with which nothing is written
// are not fenced there.
func TestTied(t *testing.T) {
	t.Parallel()
	runs := tied.NewTie[ran](20_000)
	note := func(m model, before server, c call) {
		before.holds = 0
		runs.Note(ran{m.writes > 0, before, c})
	}
	for _, p := range shown(append(windows(), fenced()...), "", note) {
		p.Search(explore.FirstStates(40_000))
	}
	runs.Check(t, ran.tied, "obtain", "rw", "refresh", "release")
}

// tick is one of the model.
const tick = time.Second

const key = "key"

// tied is the run as a case for the model server.
func (r ran) tied() tied.Case {
	c := tied.Case{Before: r.world(r.before), Call: r.request(), Coarse: tied.ByAnybody}
	after := r.before
	done, number := after.execute(model{}, r.call)
	c.Want.After = r.world(after)
	reply := &c.Want.Reply
	switch {
	case done && r.fenced:
		reply.Code, reply.Number = proto.Done, int64(number)
	case done:
		reply.Code = proto.Done
	case r.call.script == obtain:
		reply.Code = proto.Refused
	default:
		reply.Code, reply.Missing = proto.NotYours, []string{key}
	}
	return c
}

// world is what the server has. Its clock says the number that comes next if nothing is stored.
func (r ran) world(has server) tied.World {
	w := tied.World{Now: time.Duration(r.before.clock(model{})) * time.Microsecond}
	if has.holder != 0 {
		w.Holds = []tied.Hold{{Key: key, Token: nameOf(has.holder), Mode: tied.Write, Until: time.Duration(has.left) * tick}}
	}
	if r.fenced && has.last > 0 {
		w.Numbers = []tied.Number{{Key: key, Last: int64(has.last)}}
	}
	return w
}

func nameOf(token int8) string { return fmt.Sprintf("token%d", token) }

// request is the call as a Client makes it.
func (r ran) request() tied.Call {
	set, token := tied.Set([]string{key}, nil, r.fenced), nameOf(r.call.token)
	switch r.call.script {
	case refresh:
		return tied.Call{Request: proto.Refresh{Set: set, Value: &token, TTL: life * tick, NeverShortens: true}}
	case release:
		return tied.Call{Request: &proto.Release{Set: set, Value: &token, Looks: true}}
	}
	return tied.Call{Request: &proto.Obtain{Set: set, Value: &token, TTL: life * tick}}
}
