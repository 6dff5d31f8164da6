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
// again, because the request may reach the server after a clean-up that overtook it, until
// nothing of it can be left.
type orphan struct {
	client *Client
	entry  entry
	set    keySet
	value  string

	mu      sync.Mutex
	until   moment        // nothing can be left after that
	pause   time.Duration // after the next clean-up
	settled bool          // no request is on its way: one confirmed clean-up is enough
	over    bool
}

// newOrphan prepares the clean-up of a set. If settled, it ends with the first that is confirmed.
func (c *Client) newOrphan(set keySet, value string, until moment, settled bool) *orphan {
	o := &orphan{client: c, set: set, value: value, until: until, pause: firstClear, settled: settled}
	o.entry.errand = o
	return o
}

// start begins the clean-up.
func (o *orphan) start() {
	if !o.client.schedule.put(&o.entry, now(), 0) {
		o.run(now()) // the client is closed: this once
	}
}

// settle says that no request for the set is on its way any more: if it is held one more clean-up
// will do, otherwise none.
func (o *orphan) settle(held bool) {
	o.mu.Lock()
	o.settled = true
	o.over = o.over || !held
	again := !o.over
	o.mu.Unlock()
	if again {
		o.client.schedule.put(&o.entry, now(), 0)
	} else {
		o.client.schedule.drop(&o.entry)
	}
}

// run releases the set once, and sees to it that it is done again if need be.
func (o *orphan) run(at moment) {
	o.mu.Lock()
	if o.over || at.reached(o.until) {
		o.mu.Unlock()
		return
	}
	next := at.add(o.pause)
	o.pause = min(2*o.pause, lastClear)
	wasSettled := o.settled
	o.mu.Unlock()

	token, _ := decodeValue(o.value)
	keys := o.client.claims.clear(token, o.set.keys)
	o.client.schedule.put(&o.entry, next, 0)
	if len(keys) == 0 {
		return // all of them are somebody's; that may end before the orphan does
	}
	c := newCall(context.Background(), releaseScript, keys, nil, &o.value, 0)
	c.settle = func(c *call) {
		var lands moment
		if c.unsure || c.err != nil && classify(c.err) == unknown {
			lands = c.sent.add(networkGrace)
		}
		o.client.claims.done(token, lands)
		whole := len(keys) == len(o.set.keys)
		if c.err == nil && wasSettled && whole || c.err != nil && classify(c.err) == final {
			o.mu.Lock()
			o.over = true
			o.mu.Unlock()
			o.client.schedule.drop(&o.entry)
		}
	}
	o.client.transport.start(c)
}
