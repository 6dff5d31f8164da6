package quorum

import (
	"slices"
	"time"
)

// linger is for how long a goroutine waits for something to do, at least.
const linger = time.Second

// A crew is a set of goroutines that have sent requests, and wait for more. The stack of a new goroutine is too
// small for go-redis, and is copied several times until it has grown: that costs a fifth of what a request costs in
// this process. Its fields are guarded by the mutex of the Client.
type crew struct {
	idle  []chan *errand // the last one has been idle for the shortest time
	spare int            // so many have been idle since the timer was set
	timer *time.Timer    // sends these away; nil before anybody was idle
	armed bool           // it runs
}

// An errand is what a goroutine of the crew does: a request to a node, most often one of a round. It is a debt while it
// lasts, if it is about a lock.
type errand struct {
	do     func() // what is to be done, if it is a part of no round
	round  *round
	node   *node
	index  int    // of the node
	pass   ticket // of an Obtain
	who    debtor
	owes   bool
	debt   debt
	counts bool // Close waits for it; guarded by the mutex of the Client
}

func (e *errand) run() {
	if e.owes {
		defer e.node.debts.pay(e.who, &e.debt)
	}
	if e.do != nil {
		e.do()
		return
	}
	e.round.take(e.index, e.round.ask(e.index))
}

// spawn runs fn on a goroutine.
func (c *Client) spawn(fn func()) { c.send(&errand{do: fn}) }

// spawnFor runs fn, which asks a node about a lock, on a goroutine.
func (c *Client) spawnFor(i int, w *want, l *Lock, fn func()) {
	e := &errand{do: fn}
	e.owe(c.nodes[i], w, l)
	c.send(e)
}

// send has a goroutine go on an errand. Close waits for errands that were sent before it.
func (c *Client) send(e *errand) {
	c.mu.Lock()
	if e.counts = !c.closed.Load(); e.counts {
		c.under++
	}
	n := len(c.idle) - 1
	if n < 0 {
		c.mu.Unlock()
		go c.work(e)
		return
	}
	hand := c.idle[n]
	c.idle = c.idle[:n]
	c.spare = min(c.spare, n)
	c.mu.Unlock()
	hand <- e
}

// work goes on an errand, and then on others, as long as there are any.
func (c *Client) work(e *errand) {
	errands := make(chan *errand, 1) // the sender does not wait
	for e != nil {
		e.run()
		if !c.rest(e, errands) {
			return
		}
		e = <-errands
	}
}

// rest ends an errand, and has its goroutine wait for the next one. It reports false if the goroutine is to end.
func (c *Client) rest(e *errand, errands chan *errand) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgoLocked(e)
	if c.closed.Load() {
		return false
	}
	c.idle = append(c.idle, errands)
	if !c.armed {
		c.armed, c.spare = true, 0
		if c.timer == nil {
			c.timer = time.AfterFunc(linger, c.dismiss)
		} else {
			c.timer.Reset(linger)
		}
	}
	return true
}

// forgo has Close wait no longer for an errand, which has had its time.
func (c *Client) forgo(e *errand) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgoLocked(e)
}

func (c *Client) forgoLocked(e *errand) {
	if !e.counts {
		return
	}
	e.counts = false
	if c.under--; c.under == 0 && c.closed.Load() {
		close(c.done)
	}
}

// dismiss sends away goroutines that had nothing to do since the timer was set.
func (c *Client) dismiss() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dismissLocked(c.spare)
	c.spare = len(c.idle)
	if c.armed = c.spare > 0; c.armed {
		c.timer.Reset(linger)
	}
}

// dismissLocked sends away the goroutines that have been idle for the longest time. The timer may be waiting for the
// mutex when Close does so, and then counts none of them again.
func (c *Client) dismissLocked(n int) {
	for _, errands := range c.idle[:n] {
		close(errands)
	}
	c.idle = slices.Delete(c.idle, 0, n)
	c.spare = max(0, c.spare-n)
}
