package late

import (
	"slices"
	"testing"

	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/proof/models/explore"
	"github.com/seed-14de3678/redislock/proof/models/tied"
)

// A ran is one run of a script: what the server has before, and the request.
type ran struct {
	m      *model // one of those to whose server the same happens
	before server
	request
	knows place
}

// A place is what a request says of the place of its waiter.
type place int8

const (
	none    place = iota // it stands nowhere
	unknown              // it may stand in line, because a request was not answered
	known
)

// What the server of the model does, the model server does as well, and so the scripts do.
//
// Left out are runs that fail in the middle: the model server does not know what they leave undone. Of waiters that have lost
// their place, and ask with it, only those are tried that had the last: the model does not know where the others were. Everybody hears
// what is published, because the model grants keys to whoever stands in line.
func TestTied(t *testing.T) {
	t.Parallel()
	runs, alike := tied.NewTie[ran](20_000), map[likeness]*model{}
	for _, g := range groups() {
		for _, m := range g.models {
			m.ran = func(m *model, before server, r request) {
				run := ran{m: m, before: before, request: r}
				run.reduce()
				its := run.likeness()
				if alike[its] == nil {
					alike[its] = m
				}
				run.m = alike[its]
				for _, run.knows = range run.places() {
					runs.Note(run)
				}
			}
			m.system().Search(explore.FirstStates(15_000))
		}
	}
	seen := map[op]map[reply]int{}
	runs.Check(t, func(r ran) tied.Case {
		c, its := r.tied()
		if seen[r.op] == nil {
			seen[r.op] = map[reply]int{}
		}
		seen[r.op][its]++
		return c
	}, "obtain", "rw", "release", "refresh", "convert")
	t.Log(seen)
	for o := obtain; o <= cleanup; o++ {
		for _, its := range replies(o) {
			if seen[o][its] == 0 {
				t.Errorf("no %v was compared that is answered: %v", o, its)
			}
		}
	}
}

// replies are what a script answers to a request, apart from an error.
func replies(o op) []reply {
	switch o {
	case obtain:
		return []reply{ok, refused, overtaken}
	case queue:
		return []reply{ok, waits, overtaken}
	case upgrade:
		return []reply{ok, refused, lost, overtaken}
	}
	return []reply{ok, lost, overtaken}
}

// A likeness is what of its model a run depends on.
type likeness struct {
	wants                  [waiters]set
	home                   [holds]int8
	guardLife, waiterLease int8
}

func (r *ran) likeness() likeness {
	l := likeness{guardLife: r.m.guardLife}
	if !r.asksInLine() && r.before.place == [keys][waiters]int8{} {
		return l
	}
	for w := range waiters {
		l.wants[w] = r.m.wants(w)
	}
	l.home, l.waiterLease = r.m.home, r.m.waiterLease
	return l
}

// asksInLine reports whether the request is one of a waiter.
func (r *ran) asksInLine() bool { return r.op == queue || r.leave }

// reduce leaves of a run what the script depends on: nothing was told yet, and places and numbers are ranks. No rank of a number is
// that of the first, which is not sent.
func (r *ran) reduce() {
	r.age, r.before.notified = 0, [holds]bool{}
	if !r.asksInLine() {
		r.hold = 0
	}
	places, numbers := make([]*int8, 0, keys*waiters), append(make([]*int8, 0, 1+keys*ids), &r.number)
	for i := range keys {
		for w := range waiters {
			places = append(places, &r.before.place[i][w])
		}
		for id := range ids {
			numbers = append(numbers, &r.before.guard[i][id].number)
		}
	}
	rank(places, 0)
	rank(numbers, 1)
}

// rank makes ranks of those numbers that are greater than stays, and not the greatest that there is.
func rank(all []*int8, stays int8) {
	var ranks [top]int8
	for _, n := range all {
		if *n < top {
			ranks[*n] = 1
		}
	}
	next := stays
	for n := stays + 1; n < top; n++ {
		next += ranks[n]
		ranks[n] = next
	}
	for _, n := range all {
		if *n > stays && *n < top {
			*n = ranks[*n]
		}
	}
}

// standsAt is where a waiter stands; 0: nowhere.
func (s *server) standsAt(w int) int8 { return max(s.place[0][w], s.place[1][w]) }

// places are what the request may say of the place of its waiter. Only one that is overtaken can have entered its lines without
// knowing that it may have: later tries do.
func (r *ran) places() []place {
	switch {
	case r.leave:
		return []place{unknown, known}
	case r.op != queue:
		return []place{none}
	}
	after := r.before
	if r.before.standsAt(int(r.hold)) > 0 && after.execute(r.m, r.request, whole) != overtaken {
		return []place{unknown, known}
	}
	return []place{none, unknown, known}
}

// tied is the run as a case for the model server, and what it replies.
func (r ran) tied() (tied.Case, reply) {
	after := r.before
	its := after.execute(r.m, r.request, whole)
	c := tied.Case{Before: r.before.world(r.m), Call: r.call(), Coarse: r.coarse, Want: tied.Outcome{After: after.world(r.m)}}
	c.Want.Reply.Code = map[reply]proto.Code{
		ok: proto.Done, refused: proto.Refused, waits: proto.InLine, lost: proto.NotYours, overtaken: proto.Overtaken,
	}[its]
	for w := range waiters {
		if r.m.wants(w) == 0 {
			continue
		}
		c.Wishes = append(c.Wishes, r.m.wish(w))
		granted := w == another && r.before.standsAt(w) > 0 && after.standsAt(w) == 0
		if granted || w != another && after.notified[w] {
			c.Want.Told = append(c.Want.Told, tied.Told{ID: waiterOf(w), News: tied.Granted})
		}
	}
	return c, its
}

// coarse takes out what the model says nothing of: which keys are missing, whom a refusal names, when to ask, and what a place is
// beside the order of the line. It does not count what a Release spares as missing, as a Client does not.
func (r ran) coarse(o *tied.Outcome) {
	o.After.Rank()
	code := o.Reply.Code
	if code == proto.NotYours && len(o.Reply.Missing) > 0 && len(owners.Without(o.Reply.Missing, inOrder(r.spare, 0))) == 0 {
		code = proto.Done
	}
	o.Reply = tied.Reply{Code: code, Err: o.Reply.Err}
	o.Told = slices.DeleteFunc(o.Told, func(told tied.Told) bool { return told.News != tied.Granted })
}
