package late

import (
	"cmp"
	"slices"
	"time"

	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/proof/models/tied"
)

// This file is how a run is told to the model server: what there is before, and how the script is called.

// place is what the request says of the place of its waiter. One that has lost it had the last.
func (r *ran) place() proto.Place {
	const last = 100
	switch r.knows {
	case unknown:
		return proto.Place{}.OrUnknown()
	case known:
		at := cmp.Or(r.before.standsAt(int(r.hold)), last)
		return tied.PlaceAt(time.Duration(at) * time.Microsecond)
	}
	return proto.Place{}
}

const (
	now = tick
	// tick is one of the model. Where it has no clock, leases are longer and shorter than others all the same.
	tick = time.Second
	// long is the lease of the other token, and for how long a key is left: the model says nothing of that.
	long = 100 * tick
	// guardTime is for how long a guard lives.
	guardTime = 300 * time.Second
)

func ticks(n int8) time.Duration { return time.Duration(n) * tick }

var mine, others = "mine", "other"

func keyOf(i int) string { return []string{"a", "b"}[i] }

func lineOf(i int) string { return slot.Beside("line", keyOf(i)) }

func waiterOf(w int) string { return []string{"waiter0", "waiter1", "waiter2"}[w] }

// ownerOf is the id of an owner. The first is that of a token which callers did not know at first, so it is the token.
func ownerOf(id int) string { return []string{mine, "owner1", "owner2", "owner3", "owner4"}[id] }

// numberOf is a number as requests have it: the first is 0.
func numberOf(number int8) int64 {
	if number == top {
		return owners.LastNumber
	}
	return int64(number) - 1
}

// inOrder are the keys of a set, the home first.
func inOrder(of set, home int8) (names []string) {
	for _, i := range []int8{max(0, home), 1 - max(0, home)} {
		if of.has(int(i)) {
			names = append(names, keyOf(int(i)))
		}
	}
	return names
}

// wish is what a waiter wants.
func (m *model) wish(w int) tied.Wish {
	if w == another {
		return tied.Wish{ID: waiterOf(w), Token: others, Writes: inOrder(m.wants(w), 0), TTL: long}
	}
	return tied.Wish{ID: waiterOf(w), Token: mine, Writes: inOrder(m.wants(w), m.home[w]), TTL: ticks(m.waiterLease)}
}

// world is what the server has.
func (s *server) world(m *model) tied.World {
	w := tied.World{Now: now}
	modes := map[mode]tied.Mode{reads: tied.Read, writes: tied.Write}
	for i := range keys {
		for token, its := range map[string]lease{
			mine: {s.mine[i].mode, s.mine[i].left}, others: {s.other[i], int8(long / tick)}, "": {s.taken[i], int8(long / tick)},
		} {
			if its.mode != free {
				w.Holds = append(w.Holds, tied.Hold{Key: keyOf(i), Token: token, Mode: modes[its.mode], Until: now + ticks(its.left)})
			}
		}
		for id, g := range s.guard[i] {
			if g.number > 0 {
				until := now + time.Duration(g.left)*guardTime/time.Duration(m.guardLife)
				w.Guards = append(w.Guards, tied.Guard{Key: keyOf(i), Owner: ownerOf(id), Number: numberOf(g.number), Until: until})
			}
		}
		for its, at := range s.place[i] {
			if at == 0 {
				continue
			}
			place := time.Duration(at) * time.Microsecond
			k := slices.IndexFunc(w.Waiters, func(other tied.Waiter) bool { return other.ID == waiterOf(its) && other.Place == place })
			if k < 0 {
				k = len(w.Waiters)
				w.Waiters = append(w.Waiters, tied.Waiter{ID: waiterOf(its), Place: place})
			}
			w.Waiters[k].Lines = append(w.Waiters[k].Lines, keyOf(i))
		}
	}
	return w
}

// call is the request as a Client sends it.
func (r ran) call() tied.Call {
	c := tied.Call{Stamp: r.stamp()}
	all, ttl := inOrder(r.keys, r.home), ticks(r.lease)
	set, reading := tied.Set(all, nil, false), tied.Set(nil, all, false)
	switch r.op {
	case obtain:
		asReaders := inOrder(r.read, r.home)
		c.Request = &proto.Obtain{
			Set: tied.Set(inOrder(r.keys&^r.read, r.home), asReaders, false), Value: &mine, TTL: ttl, Intents: tied.Intents(asReaders...),
		}
	case queue:
		wish := r.m.wish(int(r.hold))
		wish.TTL = ttl
		c.Request = wish.Obtain(r.place())
	case refresh, renew:
		c.Request = proto.Refresh{Set: set, Value: &mine, TTL: ttl, NeverShortens: r.op == renew}
	case downgrade:
		c.Request = proto.Convert{Set: reading, Value: &mine, TTL: ttl}
	case upgrade:
		c.Request = proto.Convert{Set: set, Value: &mine, TTL: ttl}
	default:
		q := &proto.Release{Set: set, Value: &mine, Looks: true}
		if r.leave {
			q.Waiter, q.Place = waiterOf(int(r.hold)), r.place()
		}
		if r.taken {
			c.Left = long
		}
		c.Request = q
	}
	return c
}

// stamp is what the request says of its owner. Callers know the token.
func (r ran) stamp() owners.Stamp {
	s := owners.Stamp{Known: true, Yields: r.keep}
	name := func(id int, number int8) owners.Name {
		n := owners.Name{Number: numberOf(number)}
		if id > 0 {
			n.ID = ownerOf(id)
		}
		return n
	}
	if r.number > 0 {
		s.Numbered, s.Name = true, name(int(r.id), r.number)
	}
	for i := range keys {
		for id, lines := range r.former {
			if lines.has(i) {
				s.Closes = append(s.Closes, &owners.Sent{Name: name(id, 1), Home: lineOf(i)})
			}
		}
		if r.closes.has(i) {
			s.Closes = append(s.Closes, &owners.Sent{Name: name(int(r.id), r.number), Home: lineOf(i)})
		}
	}
	for i, key := range inOrder(r.keys, r.home) {
		if slices.Contains(inOrder(r.spare, 0), key) {
			s.Spared = append(s.Spared, i)
		}
	}
	return s
}
