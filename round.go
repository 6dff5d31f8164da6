package redislock

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

// The waiters of one Client ask again together as long as they have heard nothing. This file says for which of them the
// Client asks, and which ask by themselves all the same.

const (
	// askAgain is how often a waiter asks again, less a jitter, whatever it hears or does not.
	askAgain = proto.AskAgain
	// roundEvery is how much time lies between two rounds, less a jitter.
	roundEvery = askAgain * 7 / 8
	// stillFresh is the greatest age of a waiter's latest answer at which a round passes it over: so no waiter is
	// without an answer for longer than askAgain.
	stillFresh = askAgain - roundEvery
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

// Rounds ask together for the waiters of one Client that stand in line and have heard nothing, every now and then. They
// are safe for concurrent use.
type rounds struct {
	client  *Client
	entry   clock.Entry
	endings endings

	mu      sync.Mutex
	seats   []*seat
	planned bool         // it is in the schedule
	next    clock.Moment // when the next one is, if it is planned
	split   bool         // the server takes only keys of one slot together, although the Redis client is for one server
	told    clock.Moment // when the latest waiter asks that was told to
}

// A seat is the place of one waiter in the rounds. It is guarded by their mutex.
type seat struct {
	waiter *listen.Waiter
	set    keySet
	place  proto.Place // in line
	heard  int         // its subscription
	blocker

	index     int // among the seats, from 1; 0: it does not sit
	times     int // how often it has sat down
	underWay  bool
	asked     clock.Moment // a moment before it asked by itself
	confirmed clock.Moment // a moment before it did, or before a round that was answered
}

// begin has them ask for the waiters of the Client.
func (r *rounds) begin(c *Client) {
	r.client, r.entry.Task = c, r
	r.endings.rounds, r.endings.entry.Task = r, &r.endings
}

// take gives a seat to a waiter that has asked by itself and is to ask again after wait. It sits there until it leaves.
func (r *rounds) take(s *seat, asked clock.Moment, place proto.Place, by blocker, wait time.Duration) {
	heard := s.waiter.AskLate(wait, longestUnconfirmed-rand.N(askAgain/4))
	r.mu.Lock()
	defer r.mu.Unlock()
	s.place, s.heard, s.blocker = place, heard, by
	s.underWay, s.asked, s.confirmed = false, asked, asked
	s.times++
	r.seats = append(r.seats, s)
	s.index = len(r.seats)
	if !r.planned {
		r.planLocked(clock.Now(), roundEvery-rand.N(askAgain/16))
	}
	r.endings.noteLocked(by.behind())
}

// leave takes a waiter off its seat, if it has one. The result of a round that is under way is not for it any more.
func (r *rounds) leave(s *seat) {
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

func (r *rounds) planLocked(at clock.Moment, wait time.Duration) {
	r.next = at.Add(wait)
	r.planned = r.client.schedule.Put(&r.entry, r.next, 0)
}

// Run asks for every waiter whose latest answer is not fresh any more.
func (r *rounds) Run(at clock.Moment) {
	r.mu.Lock()
	r.planned = false
	if len(r.seats) == 0 {
		r.mu.Unlock()
		return
	}
	r.planLocked(at, roundEvery-rand.N(askAgain/16))
	r.endings.lookLocked(at)
	var due []*seat
	for _, s := range r.seats {
		if !s.underWay && at.Since(s.confirmed) > stillFresh {
			due = append(due, s)
		}
	}
	slices.SortFunc(due, func(a, b *seat) int { return cmp.Compare(a.asked.Mono, b.asked.Mono) })
	alone := min(aloneInRound, len(due))
	for _, s := range due[:alone] {
		s.waiter.AskIn(0)
	}
	groups := r.groupsLocked(due[alone:])
	r.mu.Unlock()
	for _, g := range groups {
		g.next()
	}
}

// groupsLocked makes the groups of a round. Waiters for the same key stand together there, in their order.
func (r *rounds) groupsLocked(due []*seat) map[string]*group {
	slices.SortFunc(due, func(a, b *seat) int {
		return cmp.Or(strings.Compare(a.set.keys[0], b.set.keys[0]), a.place.Compare(b.place))
	})
	groups := make(map[string]*group)
	for _, s := range due {
		at := r.whereLocked(s.set.keys[0])
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
func (r *rounds) whereLocked(key string) string {
	switch {
	case r.client.placement == anywhere && !r.split:
		return ""
	case r.client.placement == bySlot && !r.client.conn.Wrapped():
		return strconv.Itoa(int(slot.Of(key)))
	}
	if !slot.IsTagged(key) {
		return "=" + key // a wrapper of the client may add to it
	}
	return slot.Tag(key)
}

// A group of a round asks for the waiters that have their keys in the same place, with one call after the other: a
// server does not have all of them to do at once.
type group struct {
	rounds *rounds
	asked  []sitting // the waiters of the call under way
	rest   []sitting
}

// A sitting is one time that a waiter has sat down.
type sitting struct {
	*seat
	times int
}

// isLocked reports whether the waiter sits there still.
func (s sitting) isLocked() bool { return s.index > 0 && s.seat.times == s.times }

// next makes the next call of the group, if somebody is left in it.
func (g *group) next() {
	g.rounds.mu.Lock()
	c := g.callLocked()
	g.rounds.mu.Unlock()
	if c != nil {
		c.Then = func(*wire.Call) { g.answered(c) }
		g.rounds.client.conn.Start(&c.Call)
	}
}

// callLocked prepares the request for as many waiters as one call may ask for; it returns nil if no waiter is left.
func (g *group) callLocked() *call {
	var q proto.Round
	g.asked = nil
	for ; len(g.rest) > 0; g.rest = g.rest[1:] {
		if s := g.rest[0]; s.isLocked() {
			if len(g.asked) > 0 && q.Size()+len(s.set.keys) > fullRound {
				break
			}
			q.Add(s.waiter.ID, s.place, s.set.keys, s.set.lines)
			g.asked = append(g.asked, s)
		}
	}
	if len(g.asked) == 0 {
		return nil
	}
	r := new(call)
	q.Fill(&r.run)
	return r.begins(context.Background())
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
				s.waiter.AskIn(r.apartLocked())
			}
		}
	default:
		g.failedLocked()
	}
	r.mu.Unlock()
	g.next()
}

// confirmedLocked takes in that waiters stand where they stood, apart from some that have to ask.
func (r *rounds) confirmedLocked(asked []sitting, sent clock.Moment, micros int64, asks map[int]time.Duration) {
	for i, s := range asked {
		if !s.isLocked() {
			continue
		}
		s.underWay = false
		in, has := asks[i]
		switch {
		case has && in == 0:
			s.waiter.AskIn(r.apartLocked())
			continue
		case has:
			s.waiter.AskIn(in + clock.AfterEnd)
		}
		s.confirmed = sent
		s.waiter.Confirm(s.heard, listen.Confirmation{Sent: sent, Micros: micros}, longestUnconfirmed-rand.N(askAgain/4))
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
func (r *rounds) apartLocked() time.Duration {
	at := clock.Now()
	next := r.told.Add(askApart)
	if r.told == (clock.Moment{}) || !at.Precedes(next) {
		r.told = at
		return 0
	}
	r.told = next
	if wait := at.Until(r.told); wait < askAgain/2 {
		return wait
	}
	return rand.N(askAgain / 2)
}
