package redislock

import (
	"context"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

const (
	firstClear = 50 * time.Millisecond // between the first two clean-ups; then twice as long each
	lastClear  = 30 * time.Second      // at most
	// clearGrace is how long after the end of its lease an unanswered clean-up goes on.
	clearGrace = 10 * time.Second
)

// A cleanup is about a set of keys that a token may hold although nobody has the lock: the reply to an Obtain was lost
// or came too late, or a Release could not be done. The set is released until an answer comes, which closes all
// requests sent before, or until the lease is over. Keys that other locks of the token count on are spared, whichever
// Client of this process has them; what those locks leave is released later.
type cleanup struct {
	client *Client
	entry  clock.Entry
	set    keySet
	of     *asker // whose requests it closes
	owner  *owners.Owner
	waiter string       // id of a waiter that may stand in line for it, else empty
	place  proto.Place  // its place there
	first  func()       // if not nil it is called when the first clean-up has an outcome
	keep   clock.Moment // the keys are to be left until then; zero: they are to be free
	until  clock.Moment // nothing can be left after that
	closes bool         // it is there to close what was sent before, and has nothing to free

	mu    sync.Mutex
	pause time.Duration // after the next clean-up
	over  bool
}

// newCleanup prepares the clean-up of a set that was asked for with this ttl. It has to be started.
func (c *Client) newCleanup(set keySet, of *asker, ttl time.Duration) *cleanup {
	o := &cleanup{client: c, set: set, of: of, until: clock.Now().Add(ttl + clearGrace), pause: firstClear}
	o.owner = of.sureOwner()
	o.entry.Task = o
	return o
}

// start begins the clean-up, or does it now.
func (o *cleanup) start() {
	if !o.client.schedule.Put(&o.entry, clock.Now(), 0) {
		o.Run(clock.Now()) // the client is closed: one try
	}
}

// Run releases the set once, and has it done again if need be. The wall clock does not count here: if somebody set it
// forward, the clean-up would end too soon.
func (o *cleanup) Run(at clock.Moment) {
	if !at.Precedes(o.until) {
		o.end()
	}
	o.mu.Lock()
	if o.over {
		o.mu.Unlock()
		return
	}
	next := at.Add(o.pause)
	o.pause = min(2*o.pause, lastClear)
	o.mu.Unlock()
	last := !o.client.schedule.Put(&o.entry, next, 0)

	r := new(call)
	q := proto.Release{
		Set: o.set.Set, Value: &o.of.value, Waiter: o.waiter, Place: o.place, Keep: o.keep,
		// A key without its value was not locked by what it clears up.
		Looks: o.set.Reads() > 0,
	}
	q.Fill(&r.run)
	r.begins(context.Background()).isOf(o.of, o.owner)
	r.Then = func(*wire.Call) { o.cleared(r, last) }
	o.client.conn.Start(&r.Call)
}

// clientClosed makes the last try.
func (o *cleanup) clientClosed() { o.Run(clock.Now()) }

// cleared takes in the outcome of one clean-up; the last one if the client is closed.
func (o *cleanup) cleared(r *call, last bool) {
	if o.first != nil {
		o.first()
	}
	switch {
	case last:
		o.end()
	case r.isOvertaken() && !o.closes: // the next one spares what has overtaken it
	case r.Err != nil && wire.Classify(r.Err) == wire.Final, r.Err == nil && !r.open && r.run.Spared() == 0:
		o.end()
	}
}

func (o *cleanup) end() {
	o.mu.Lock()
	over := o.over
	o.over = true
	o.mu.Unlock()
	if over {
		return
	}
	o.client.schedule.Drop(&o.entry)
	o.owner.Done(o.of.token())
}
