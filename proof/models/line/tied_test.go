package line

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/proof/models/explore"
	"github.com/seed-14de3678/redislock/proof/models/tied"
)

// A ran is one run of a script: what the processes of its program want, what the server has before, and the call.
type ran struct {
	wants  [procs]want
	long   bool
	before state
	call   call
}

// What the server of the model does, the model server does as well, and so the scripts do.
func TestTied(t *testing.T) {
	t.Parallel()
	runs := tied.NewTie[ran](20_000)
	note := func(m *program, before state, c call) { runs.Note(ran{m.wants, m.long, before.server(int(c.p)), c}) }
	for _, p := range shown(all, note) {
		p.Search(explore.FirstStates(20_000))
	}
	runs.Check(t, ran.tied, "rw", "release", "again")
}

// server is what of a state a script depends on that p calls. All wait, and were told nothing.
func (s *state) server(p int) (has state) {
	has.writer, has.readers, has.entries, has.deaf = s.writer, s.readers, s.entries, s.deaf
	for q := range procs {
		has.procs[q] = process{phase: waiting, knows: q == p && s.procs[q].knows}
	}
	has.settle()
	return has
}

// now is when scripts run.
const now = time.Second

// placeOf is a place of the model. All who stand in line have come before now, or, if the clock was set back, after it.
func (c call) placeOf(place int8) time.Duration {
	at := time.Duration(place) * time.Microsecond
	if c.back {
		at += now
	}
	return at
}

func nameOf(p int) string { return []string{"process1", "process2", "process3", "process4"}[p] }

func namesOf(of set) (names []string) {
	for k, name := range []string{"a", "b", "c"} {
		if of.has(k) {
			names = append(names, name)
		}
	}
	return names
}

// ttl is how long leases are: a script tells nobody when a long one is over.
func (r ran) ttl() time.Duration {
	if r.long {
		return 20 * time.Second
	}
	return 2 * time.Second
}

// left is for how long the lease of a process goes on that has held the lock for a while. No two leases end at once.
func (r ran) left(p int) time.Duration { return r.ttl()/2 + time.Duration(p)*time.Millisecond }

// wish is what a process wants.
func (r ran) wish(p int) tied.Wish {
	w := r.wants[p]
	return tied.Wish{ID: nameOf(p), Token: nameOf(p), Writes: namesOf(w.writes), Reads: namesOf(w.reads), TTL: r.ttl()}
}

// tied is the run as a case for the model server.
func (r ran) tied() tied.Case {
	c := tied.Case{Before: r.world(&r.before, 0), Call: r.request(), Coarse: coarse}
	after, fresh := r.before, crowd(0)
	c.Want.Reply = r.execute(&after)
	if c.Want.Reply.Code == proto.Done && r.call.does == asks {
		fresh = one(int(r.call.p))
	}
	for p := range procs {
		c.Wishes = append(c.Wishes, r.wish(p))
		if r.before.deaf.has(p) {
			c.Deaf = append(c.Deaf, nameOf(p))
		}
		if !r.before.holds(p) {
			fresh |= one(p)
		}
		for what, news := range map[uint8]tied.News{wake: tied.Ask, head: tied.AskAt, grant: tied.Granted} {
			if after.procs[p].mail&what != 0 {
				c.Want.Told = append(c.Want.Told, tied.Told{ID: nameOf(p), News: news})
			}
		}
	}
	c.Want.After = r.world(&after, fresh)
	return c
}

// execute has the model execute the call, and returns what it replies.
func (r ran) execute(s *state) (reply tied.Reply) {
	p := int(r.call.p)
	x := (&program{wants: r.wants, long: r.long}).script(s, p)
	switch r.call.does {
	case asks:
		its := x.ask(p, r.call.back)
		if its == granted {
			return tied.Reply{Code: proto.Done}
		}
		reply = tied.Reply{Code: proto.InLine, AskIn: never, Place: r.call.placeOf(s.entries[p].place)}
		if its == firstIn {
			reply.AskIn = later
		}
	case round:
		reply.Asks = map[int]time.Duration{}
		if now, then := x.again(p); now {
			reply.Asks[0] = 0
		} else if then {
			reply.Asks[0] = later
		}
	default:
		reply.Code = proto.Done
		for _, k := range r.wants[p].order() {
			if !s.has(p, k) {
				reply.Code, reply.Missing = proto.NotYours, append(reply.Missing, namesOf(key(k))...)
			}
		}
		x.release(p, r.call.does)
	}
	return reply
}

// When to ask again, as far as the model says it.
const (
	never time.Duration = -1
	later time.Duration = 1
)

// coarse takes out what the model says nothing of: whom a refusal names, whether the channel of a waiter is heard that stands in
// line, when a lease is over, which may be at any moment here, and what a place is beside the order of the lines.
func coarse(o *tied.Outcome) {
	o.Reply.InTheWay, o.Reply.Heard = nil, false
	o.Reply.AskIn = max(never, min(later, o.Reply.AskIn))
	for i, in := range o.Reply.Asks {
		o.Reply.Asks[i] = min(later, in)
	}
	for i := range o.Told {
		o.Told[i].At = 0
	}
	before := 0
	for _, w := range o.After.Waiters {
		if w.Place < o.Reply.Place {
			before++
		}
	}
	o.Reply.Place = time.Duration(before)
	o.After.Rank()
}

// world is what the server has. The leases of those who are fresh have just begun.
func (r ran) world(s *state, fresh crowd) tied.World {
	w := tied.World{Now: now}
	for p, e := range s.entries {
		if e.lines != 0 {
			w.Waiters = append(w.Waiters, tied.Waiter{
				ID: nameOf(p), Place: r.call.placeOf(e.place), Lines: namesOf(e.lines), Dead: e.ended,
			})
		}
		left := r.left(p)
		if fresh.has(p) {
			left = r.ttl()
		}
		for k := range keys {
			if s.has(p, k) {
				w.Holds = append(w.Holds, tied.Hold{
					Key: namesOf(key(k))[0], Token: nameOf(p), Mode: tied.Mode(s.writer[k].has(p)), Until: now + left,
				})
			}
		}
	}
	return w
}

// request is the call as a Client makes it.
func (r ran) request() tied.Call {
	p := int(r.call.p)
	wish, e, place := r.wish(p), r.before.entries[p], proto.Place{}
	if r.before.procs[p].knows {
		place = tied.PlaceAt(r.call.placeOf(e.place))
	} else if e.lines != 0 {
		place = place.OrUnknown()
	}
	set := tied.Set(wish.Writes, wish.Reads, false)
	switch r.call.does {
	case asks:
		return tied.Call{Request: wish.Obtain(place)}
	case round:
		q := &proto.Round{}
		q.Add(wish.ID, place, set.Keys, set.Lines)
		return tied.Call{Request: q}
	}
	q := &proto.Release{Set: set, Value: &wish.Token}
	if r.call.does == givesUp {
		q.Waiter, q.Place = wish.ID, place.OrUnknown()
	}
	return tied.Call{Request: q}
}
