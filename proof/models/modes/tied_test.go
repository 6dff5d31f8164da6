package modes

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/proof/models/explore"
	"github.com/seed-14de3678/redislock/proof/models/tied"
)

// A ran is one run of a script: what the server has before, and the call.
type ran struct {
	m      *program
	before state
	call   call
}

// What the server of the model does, the model server does as well, and so the scripts do.
func TestTied(t *testing.T) {
	t.Parallel()
	runs := tied.NewTie[ran](20_000)
	for _, p := range shown("", func(m *program, before state, c call) { runs.Note(ran{m, before.server(), c}) }) {
		p.Search(explore.FirstStates(40_000))
	}
	runs.Check(t, ran.tied, "obtain", "rw", "refresh", "convert", "release")
}

// server is what of a state scripts depend on. It is always the first tick. All who stand in line wait, and were told nothing.
func (s *state) server() (has state) {
	has.now = 1
	since := func(moment int8) int8 {
		if moment == 0 {
			return 0
		}
		return max(has.now, has.now+moment-s.now)
	}
	has.writer, has.till, has.intent, has.ends, has.place = s.writer, since(s.till), s.intent, since(s.ends), s.place
	for p := range procs {
		has.reader[p] = since(s.reader[p])
		if s.place[p] > 0 {
			has.procs[p].phase = waiting
		}
	}
	return has
}

// tick is one of the model. A lease lasts a few of them: less than the time after which a waiter asks by itself, because a script
// tells nobody when a longer one is over.
const tick = time.Second

func at(moment int8) time.Duration { return time.Duration(moment) * tick }

const key = "key"

func nameOf(p int) string { return []string{"process1", "process2", "process3", "process4"}[p] }

// wish is what a process wants.
func (m *program) wish(p int) tied.Wish {
	w := tied.Wish{ID: nameOf(p), Token: nameOf(p), TTL: at(m.roles[p].ttl)}
	if m.roles[p].wants == writes {
		w.Writes = []string{key}
	} else {
		w.Reads = []string{key}
	}
	return w
}

// tied is the run as a case for the model server.
func (r ran) tied() tied.Case {
	after, p := r.before, int(r.call.p)
	if r.call.script == obtain {
		after.procs[p].phase = waiting
	}
	its := after.execute(r.m, r.call)
	after.settle()
	c := tied.Case{Before: r.before.world(), Call: r.request(), Coarse: coarse, Want: tied.Outcome{After: after.world()}}
	for q := range procs {
		c.Wishes = append(c.Wishes, r.m.wish(q))
		switch told := after.procs[q]; {
		case told.granted != free:
			c.Want.Told = append(c.Want.Told, tied.Told{ID: nameOf(q), News: tied.Granted})
		case told.head != 0:
			c.Want.Told = append(c.Want.Told, tied.Told{ID: nameOf(q), News: tied.AskAt, At: at(told.head)})
		}
	}
	reply := &c.Want.Reply
	reply.Code = [...]proto.Code{done: proto.Done, refused: proto.Refused, notOurs: proto.NotYours}[its]
	if r.call.script == obtain && its == refused && r.m.roles[p].way == queues {
		reply.Code, reply.AskIn = proto.InLine, -time.Millisecond
		if ask := after.procs[p].askAt; ask > 0 {
			reply.AskIn = at(ask - r.before.now)
		}
	}
	return c
}

// coarse takes out what the model says nothing of: whom a refusal names, and what a place is beside the order of the line.
func coarse(o *tied.Outcome) {
	o.After.Rank()
	o.Reply = tied.Reply{Code: o.Reply.Code, Err: o.Reply.Err, AskIn: o.Reply.AskIn}
}

// world is what the server has.
func (s *state) world() tied.World {
	w := tied.World{Now: at(s.now)}
	if s.till > 0 {
		w.Ends = []tied.End{{Key: key, Until: at(s.till)}}
	}
	if s.writer > 0 {
		w.Holds = []tied.Hold{{Key: key, Token: nameOf(int(s.writer - 1)), Mode: tied.Write, Until: at(s.till)}}
	}
	for p, till := range s.reader {
		if till > 0 {
			w.Holds = append(w.Holds, tied.Hold{Key: key, Token: nameOf(p), Until: at(till)})
		}
	}
	if s.intent > 0 {
		w.Intents = []tied.Intent{{Key: key, Token: nameOf(int(s.intent - 1)), Until: at(s.ends)}}
	}
	for p, place := range s.place {
		if place > 0 {
			w.Waiters = append(w.Waiters, tied.Waiter{
				ID: nameOf(p), Place: time.Duration(place) * time.Microsecond, Lines: []string{key},
			})
		}
	}
	return w
}

// request is the call as a Client makes it.
func (r ran) request() tied.Call {
	p := int(r.call.p)
	wish, role := r.m.wish(p), r.m.roles[p]
	set, place := tied.Set(wish.Writes, wish.Reads, false), proto.Place{}
	if rank := r.before.place[p]; rank > 0 {
		place = tied.PlaceAt(time.Duration(rank) * time.Microsecond)
	}
	switch r.call.script {
	case refresh: // by a renewal: there is no Refresh to another lease in the model
		return tied.Call{Request: proto.Refresh{Set: set, Value: &wish.Token, TTL: wish.TTL, NeverShortens: true}}
	case convert:
		set.Writes = 0
		if r.call.as == writes {
			set.Writes = 1
		}
		return tied.Call{Request: proto.Convert{Set: set, Value: &wish.Token, TTL: wish.TTL}}
	case release:
		q := &proto.Release{Set: set, Value: &wish.Token}
		if place.IsKnown() {
			q.Waiter, q.Place = wish.ID, place
		}
		return tied.Call{Request: q}
	}
	q := wish.Obtain(place)
	if role.way == queues {
		return tied.Call{Request: q}
	}
	q.Waiter, q.Intents = nil, tied.Intents(key)
	if role.way == declares {
		if q.Declares = true; !r.call.last {
			q.Intent = at(pause + 1)
		}
	} else if role.wants == writes {
		q.Intents = nil
	}
	return tied.Call{Request: q}
}
