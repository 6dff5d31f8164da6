package redislock

import (
	"context"
	"sync"
	"time"
)

const (
	// networkGrace is how long a request may be on its way after its connection was given up.
	networkGrace = 10 * time.Second
	firstClear   = 50 * time.Millisecond // between the first two clean-ups; then twice as long each
	lastClear    = 30 * time.Second      // at most
)

// An orphan is a set of keys that a token may hold although nobody has the lock: the reply to an
// Obtain was lost or came too late, or a Release could not be done. It is released again and
// again, because the request may reach the server after a clean-up that overtook it. When no
// request can be on its way any more, one clean-up that is confirmed ends it; if none is, the end
// of the lease does.
type orphan struct {
	client *Client
	entry  entry
	set    keySet
	value  string
	waiter string // id of one that may stand in line for it, else empty
	place  string // its place there
	first  func() // if not nil it is called when the first clean-up has an outcome

	mu    sync.Mutex
	lands moment        // no request is on its way after that
	until moment        // nothing can be left after that
	lease time.Duration // for which a request that lands may leave something
	pause time.Duration // after the next clean-up
	over  bool
}

// newOrphan prepares the clean-up of a set that was asked for, for so long, by a request that
// reaches the server before it lands.
func (c *Client) newOrphan(set keySet, value string, lands moment, ttl time.Duration) *orphan {
	latest := now()
	if latest.precedes(lands) {
		latest = lands
	}
	lease := ttl + networkGrace
	o := &orphan{client: c, set: set, value: value, lands: lands, until: latest.add(lease), lease: lease, pause: firstClear}
	o.entry.errand = o
	return o
}

// start begins the clean-up, or does it now.
func (o *orphan) start() {
	if !o.client.schedule.put(&o.entry, now(), 0) {
		o.run(now()) // the client is closed: this once
	}
}

// landed says that no request for the set is on its way any more: if it took the keys one more
// clean-up will do, otherwise none.
func (o *orphan) landed(taken bool) {
	if taken {
		o.mu.Lock()
		o.lands = moment{}
		o.mu.Unlock()
		o.revive(now())
		return
	}
	o.mu.Lock()
	o.lands, o.over = now(), true
	o.mu.Unlock()
	o.client.schedule.drop(&o.entry)
}

// expects says that a request may be on its way until it lands.
func (o *orphan) expects(lands moment) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lands.precedes(lands) {
		o.lands = lands
	}
	if until := lands.add(o.lease); o.until.precedes(until) {
		o.until = until
	}
	o.over = false
}

// revive does it when the clean-up has begun, and may have ended.
func (o *orphan) revive(lands moment) {
	o.expects(lands)
	o.start()
}

// run releases the set once, and sees to it that it is done again if need be. The wall clock does
// not count here: set forward, it would end the clean-up too soon.
func (o *orphan) run(at moment) {
	o.mu.Lock()
	if o.over || !at.precedes(o.until) {
		o.mu.Unlock()
		return
	}
	next := at.add(o.pause)
	o.pause = min(2*o.pause, lastClear)
	last := !at.precedes(o.lands)
	if !last && o.lands.precedes(next) {
		next = o.lands
	}
	o.mu.Unlock()
	o.client.schedule.put(&o.entry, next, 0)

	token, _ := decodeValue(o.value)
	clearing := o.client.claims.clear(token, o.set.keys)
	if clearing == nil && o.waiter == "" {
		return // all of them are somebody's; that may end before the orphan does
	}
	c := o.call(clearing)
	c.then = func(c *call) {
		if o.first != nil {
			o.first()
		}
		kind := final
		if c.err != nil {
			kind = classify(c.err)
		}
		o.client.claims.done(token, clearing, c.lands())
		if kind == final && (c.err != nil || last && clearing.spares(o.set.keys) == nil) {
			o.mu.Lock()
			o.over = true
			o.mu.Unlock()
			o.client.schedule.drop(&o.entry)
		}
	}
	o.client.transport.start(c)
}

// call prepares one clean-up: a release that spares what is claimed.
func (o *orphan) call(clearing *clearing) *call {
	c := newCall(context.Background(), releaseScript, o.set.keys, o.set.lines, &o.value, 0)
	spared := clearing.spares(o.set.keys)
	if o.set.fences == nil && o.waiter == "" && spared == nil {
		return c
	}
	c.extra = o.set.beside()
	c.more = append([]any{"", flag(o.set.fences != nil), o.waiter, o.place}, spared...)
	return c
}
