// Package rounds asks again for the waiters of one Client that stand in line and have heard nothing, for all of them together. It
// also says which of them ask by themselves all the same.
package rounds

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/wire"
)

const (
	// roundEvery is how much time lies between two rounds, less a jitter.
	roundEvery = proto.AskAgain * 7 / 8
	// stillFresh is how long ago a waiter has asked by itself at most if a round passes it over: so no waiter is
	// without an answer for longer than proto.AskAgain.
	stillFresh = proto.AskAgain - roundEvery
	// roundSoon is how soon another round follows one that has failed, for the waiters that it has not reached.
	roundSoon = time.Second
	// longestUnconfirmed is when a waiter that no round has reached asks by itself, less a jitter: in time before it
	// counts as dead.
	longestUnconfirmed = proto.WaiterLife * 2 / 3

	// aloneInRound is how many waiters ask by themselves in each round: the ones that have not for the longest time. If
	// there are no more, their conflicts are of this round. What a round would not notice is found sooner or later.
	aloneInRound = 8
	// fullRound is for how many waiters one call asks at most, counted by the keys of each, unless one has more. Such a
	// call holds the server for one or two milliseconds.
	fullRound = 192
	// askApart is the time between two waiters of one round that ask by themselves, if that is not too much in all.
	askApart = time.Millisecond
)

// Rounds ask together for the waiters of one Client, every now and then. They are safe for concurrent use.
type Rounds struct {
	conn     *wire.Conn
	schedule *clock.Schedule
	entry    clock.Entry
	endings  endings

	mu      sync.Mutex
	seats   []*Seat
	planned bool         // it is in the schedule
	next    clock.Moment // when the next one is, if it is planned
	split   bool         // the server takes only keys of one slot together, although the Redis client is for one server
	told    clock.Moment // when the latest waiter asks that was told to
}

// A Seat is the place of one waiter in the rounds. It is guarded by their mutex.
type Seat struct {
	Waiter *listen.Waiter
	Keys   []string
	Lines  []string    // beside the keys
	place  proto.Place // in line
	heard  int         // its subscription
	Blocker

	index    int // among the seats, from 1; 0: it does not sit
	times    int // how often it has sat down
	underWay bool
	asked    clock.Moment // a moment before it asked by itself
}

// Begin has them ask for the waiters of one Client.
func (r *Rounds) Begin(conn *wire.Conn, schedule *clock.Schedule) {
	r.conn, r.schedule, r.entry.Task = conn, schedule, r
	r.endings.rounds, r.endings.entry.Task = r, &r.endings
}

// Take gives a seat to a waiter that has asked by itself and is to ask again after wait. It sits there until it leaves.
func (r *Rounds) Take(s *Seat, asked clock.Moment, place proto.Place, by Blocker, wait time.Duration) {
	heard := s.Waiter.AskLate(wait, longestUnconfirmed-rand.N(proto.AskAgain/4))
	r.mu.Lock()
	defer r.mu.Unlock()
	s.place, s.heard, s.Blocker = place, heard, by
	s.underWay, s.asked = false, asked
	s.times++
	r.seats = append(r.seats, s)
	s.index = len(r.seats)
	if !r.planned {
		r.planLocked(clock.Now(), roundEvery-rand.N(proto.AskAgain/16))
	}
	if by.Over != (clock.Moment{}) {
		r.endings.noteLocked(by.behind())
	}
}

// Leave takes a waiter off its seat, if it has one. The result of a round that is under way is not for it any more.
func (r *Rounds) Leave(s *Seat) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.index == 0 {
		return
	}
	last := r.seats[len(r.seats)-1]
	r.seats[s.index-1], last.index = last, s.index
	r.seats[len(r.seats)-1] = nil
	r.seats = r.seats[:len(r.seats)-1]
	s.index = 0
}

func (r *Rounds) planLocked(at clock.Moment, wait time.Duration) {
	r.next = at.Add(wait)
	r.planned = r.schedule.Put(&r.entry, r.next, 0)
}

// Run asks for every waiter that has not asked by itself a moment ago.
func (r *Rounds) Run(at clock.Moment) {
	r.mu.Lock()
	r.planned = false
	if len(r.seats) == 0 {
		r.mu.Unlock()
		return
	}
	r.planLocked(at, roundEvery-rand.N(proto.AskAgain/16))
	r.endings.lookLocked(at)
	var due []*Seat
	for _, s := range r.seats {
		if !s.underWay && at.Since(s.asked) > stillFresh {
			due = append(due, s)
		}
	}
	slices.SortFunc(due, func(a, b *Seat) int { return cmp.Compare(a.asked.Mono, b.asked.Mono) })
	alone := min(aloneInRound, len(due))
	for _, s := range due[:alone] {
		s.Waiter.AskAt(0)
	}
	groups := r.groupsLocked(due[alone:])
	r.mu.Unlock()
	for _, g := range groups {
		g.next()
	}
}

// groupsLocked makes the groups of a round. Waiters for the same key stand together there, in their order.
func (r *Rounds) groupsLocked(due []*Seat) map[string]*group {
	slices.SortFunc(due, func(a, b *Seat) int {
		return cmp.Or(strings.Compare(a.Keys[0], b.Keys[0]), a.place.Compare(b.place))
	})
	groups := make(map[string]*group)
	for _, s := range due {
		at := r.whereLocked(s.Keys[0])
		g := groups[at]
		if g == nil {
			g = &group{rounds: r}
			groups[at] = g
		}
		s.underWay = true
		g.rest = append(g.rest, sitting{s, s.times})
	}
	return groups
}

// whereLocked names the place of a key: keys in the same place can stand in one call.
func (r *Rounds) whereLocked(key string) string {
	switch {
	case r.conn.Kind() == wire.Single && !r.split:
		return ""
	case r.conn.Kind() == wire.Cluster && !r.conn.Wrapped():
		return strconv.Itoa(int(slot.Of(key)))
	}
	if !slot.IsTagged(key) {
		return "}" + key // a wrapper of the client may add to it; no tag has a brace
	}
	return slot.Tag(key)
}

// A group of a round asks for the waiters that have their keys in the same place, with one call after the other: a
// server does not have all of them to do at once.
type group struct {
	rounds *Rounds
	asked  []sitting // the waiters of the call under way
	rest   []sitting
}

// A sitting is one time that a waiter has sat down.
type sitting struct {
	*Seat
	times int
}

// isLocked reports whether the waiter sits there still.
func (s sitting) isLocked() bool { return s.index > 0 && s.Seat.times == s.times }

// next makes the next call of the group, if somebody is left in it.
func (g *group) next() {
	g.rounds.mu.Lock()
	c := g.callLocked()
	g.rounds.mu.Unlock()
	if c != nil {
		c.Then = func(*wire.Call) { g.answered(c) }
		g.rounds.conn.Start(&c.Call)
	}
}

// A call is a request for the waiters.
type call struct {
	wire.Call
	run proto.Run
}

// callLocked prepares the request for as many waiters as one call may ask for; it returns nil if no waiter is left.
func (g *group) callLocked() *call {
	var q proto.Round
	g.asked = nil
	for ; len(g.rest) > 0; g.rest = g.rest[1:] {
		if s := g.rest[0]; s.isLocked() {
			if len(g.asked) > 0 && q.Size()+len(s.Keys) > fullRound {
				break
			}
			q.Add(s.Waiter.ID, s.place, s.Keys, s.Lines)
			g.asked = append(g.asked, s)
		}
	}
	if len(g.asked) == 0 {
		return nil
	}
	c := new(call)
	q.Fill(&c.run)
	c.Wish = wire.Wish{Context: context.Background(), Run: &c.run}
	return c
}

// answered takes in the outcome of a call.
func (g *group) answered(c *call) {
	r := g.rounds
	err := c.Err
	var micros int64
	var asks map[int]time.Duration
	if err == nil {
		micros, asks, err = c.run.Asks(c.Reply, len(g.asked))
	}
	r.mu.Lock()
	switch {
	case err == nil:
		r.confirmedLocked(g.asked, c.Sent, micros, asks)
	case redis.HasErrorPrefix(err, "CROSSSLOT") && !r.split:
		r.split = true
		g.failedLocked()
	case c.Err == nil || wire.Classify(err) == wire.Final: // a right is missing, for example: then each says so by itself
		for _, s := range g.asked {
			if s.underWay = false; s.isLocked() {
				s.Waiter.AskAt(r.apartLocked())
			}
		}
	default:
		g.failedLocked()
	}
	r.mu.Unlock()
	g.next()
}

// confirmedLocked takes in that waiters stand where they stood, apart from some that have to ask.
func (r *Rounds) confirmedLocked(asked []sitting, sent clock.Moment, micros int64, asks map[int]time.Duration) {
	for i, s := range asked {
		if !s.isLocked() {
			continue
		}
		s.underWay = false
		in, has := asks[i]
		switch {
		case has && in == 0:
			s.Waiter.AskAt(r.apartLocked())
			continue
		case has:
			s.Waiter.AskAt(in + clock.AfterEnd)
		}
		s.Waiter.Confirm(s.heard, listen.Confirmation{Sent: sent, Micros: micros}, longestUnconfirmed-rand.N(proto.AskAgain/4))
	}
}

// failedLocked ends a group with an unknown outcome, and has a round follow soon for its waiters.
func (g *group) failedLocked() {
	for _, s := range slices.Concat(g.asked, g.rest) {
		if s.isLocked() {
			s.underWay = false
		}
	}
	g.rest = nil
	g.rounds.planLocked(clock.Now(), roundSoon)
}

// apartLocked is when the next waiter asks that was told to. Not all of them ask at once: if a server has lost its data
// they may be all the waiters of the Client.
func (r *Rounds) apartLocked() time.Duration {
	at := clock.Now()
	next := r.told.Add(askApart)
	if r.told == (clock.Moment{}) || !at.Precedes(next) {
		r.told = at
		return 0
	}
	r.told = next
	if wait := at.Until(r.told); wait < proto.AskAgain/2 {
		return wait
	}
	return rand.N(proto.AskAgain / 2)
}
