package outlive

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/proof/models/explore"
	"github.com/seed-14de3678/redislock/proof/models/tied"
)

// A ran is one run of a script: what the server has before, and the call.
type ran struct {
	m      *program
	before server // the end of the lease is counted from now
	call   call
}

// What the server of the model does, the model server does as well, and so the scripts do.
func TestTied(t *testing.T) {
	t.Parallel()
	runs := tied.NewTie[ran](20_000)
	note := func(m *program, before state, c call) {
		if before.server.owner != nobody {
			before.server.till -= before.now
		}
		c.sent = 0
		runs.Note(ran{m, before.server, c})
	}
	for _, p := range shown("", note, append(leavingPrograms(), breakPrograms()...)...) {
		p.Search(explore.FirstStates(40_000))
	}
	runs.Check(t, ran.tied, "rw", "refresh", "release", "break")
}

// now is the tick of each run, counted as a world does.
const now = 1

// tick is one of the model. A key is left for a few of them: less than the time after which a waiter asks by itself, because a
// script tells nobody when a longer lease is over.
const tick = time.Second

func at(moment int8) time.Duration { return time.Duration(moment) * tick }

const (
	key   = "key"
	place = time.Microsecond // of the waiter
)

var (
	tokens  = [...]string{holder: "holder", waiter: "waiter", passer: "passer", left: ""}
	breaker = "breaker" // the token of the Break
)

// wish is what the waiter wants.
func (m *program) wish() tied.Wish {
	return tied.Wish{ID: "waiter's id", Token: tokens[waiter], Writes: []string{key}, TTL: at(m.ttl), Fenced: true}
}

// numberOf is a fencing number of the model as a world counts it.
func numberOf(n int8) int64 { return (at(now) + time.Duration(n)*time.Microsecond).Microseconds() }

// tied is the run as a case for the model server.
func (r ran) tied() tied.Case {
	after := state{now: now, server: r.before, queuer: queuer{is: gone}}
	if r.before.owner != nobody {
		after.server.till += now
	}
	if r.before.line {
		after.queuer.is = stands
	}
	old := tied.Guard{Key: key, Owner: breaker, Number: r.met(), Until: at(now) + tied.GuardLife/2}
	c := tied.Case{
		Wishes: []tied.Wish{r.m.wish()}, Call: r.request(), Coarse: tied.ByAnybody, Before: r.world(after.server, old),
	}
	its := after.execute(r.m, r.call)
	if r.call.kind == breakUp && its == done {
		old.Number = owners.LastNumber
	}
	if !r.before.guard {
		old.Until = at(now) + tied.GuardLife
	}
	c.Want = tied.Outcome{Reply: r.reply(&after, its), After: r.world(after.server, old)}
	moment := func(till int8) time.Duration { return c.Before.Now + at(till-now) }
	if after.broken > 0 {
		c.Want.Told = append(c.Want.Told, tied.Told{News: tied.Broken})
	}
	switch q := after.queuer; {
	case q.granted:
		c.Want.Told = append(c.Want.Told, tied.Told{ID: r.m.wish().ID, News: tied.Granted, Number: numberOf(after.server.fence)})
	case q.head == now:
		c.Want.Told = append(c.Want.Told, tied.Told{ID: r.m.wish().ID, News: tied.Ask})
	case q.head > 0:
		c.Want.Told = append(c.Want.Told, tied.Told{ID: r.m.wish().ID, News: tied.AskAt, At: moment(q.head)})
	}
	return c
}

// met is the number of the guard of the Break, if there is one: its clean-up sets the least, the Break itself the greatest. The
// model does not know who has set it.
func (r ran) met() int64 {
	if r.call.kind == withdraw && r.before.guard {
		return owners.LastNumber
	}
	return 1
}

// reply is that to the call, which has led to a state.
func (r ran) reply(after *state, its reply) (said tied.Reply) {
	said.Code = [...]proto.Code{done: proto.Done, notOurs: proto.NotYours, refused: proto.Refused, overtaken: proto.Overtaken}[its]
	switch {
	case its == notOurs:
		said.Missing = []string{key}
	case its == refused && r.call.by == waiter:
		said.Code, said.Place, said.Heard, said.AskIn = proto.InLine, place, true, at(after.server.till-now)
	case r.call.kind == obtain && its == done:
		said.Number = numberOf(after.server.fence)
	case after.broken > 0:
		said.Broken = []string{key}
	}
	return said
}

// world is what the server has, and the guard of the Break, if there is one. The clock says the greatest fencing number, so
// the next one is one more, as in the model.
func (r ran) world(has server, guard tied.Guard) tied.World {
	w := tied.World{
		Now:     time.Duration(numberOf(r.before.fence)) * time.Microsecond,
		Numbers: []tied.Number{{Key: key, Last: numberOf(has.fence)}},
	}
	if has.owner != nobody {
		w.Holds = []tied.Hold{{Key: key, Token: tokens[has.owner], Mode: tied.Write, Until: at(has.till)}}
	}
	if has.line {
		w.Waiters = []tied.Waiter{{ID: r.m.wish().ID, Place: place, Lines: []string{key}}}
	}
	if has.guard {
		w.Guards = []tied.Guard{guard}
	}
	return w
}

// request is the call as a Client makes it, but that no request of the holder closes another one: the model has no guards of it.
func (r ran) request() tied.Call {
	set, token := tied.Set([]string{key}, nil, true), &tokens[r.call.by]
	switch r.call.kind {
	case renewal:
		return tied.Call{Request: proto.Refresh{Set: set, Value: token, TTL: at(r.m.ttl), NeverShortens: true}}
	case check: // a renewal that leaves the lease as it is
		return tied.Call{Request: proto.Refresh{Set: set, Value: token, TTL: time.Millisecond, NeverShortens: true}}
	case obtain:
		q := r.m.wish().Obtain(tied.PlaceAt(place))
		if r.call.by == passer {
			q.Value, q.Waiter = token, nil
		}
		return tied.Call{Request: q}
	case breakUp:
		q := proto.Break{Set: set, Value: &breaker, Channel: listen.NoticeChannel, Text: listen.Notice{Keys: set.Keys}.Text()}
		return tied.Call{Request: q, Stamp: owners.Stamp{Numbered: true}}
	case withdraw:
		set.Writes, set.Fences = 0, nil
		return tied.Call{Request: &proto.Release{Set: set, Value: &breaker, Looks: true}, Stamp: owners.Stamp{
			Numbered: true, Name: owners.Name{Number: 1}, Closes: []*owners.Sent{{Home: set.Lines[0]}},
		}}
	}
	return tied.Call{Request: &proto.Release{Set: set, Value: token, Looks: r.call.kind == release}, Left: at(r.call.rest)}
}
