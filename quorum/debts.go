package quorum

import (
	"context"
	"sync"
)

// Debts are the requests under way that come back to somebody. What an ended lock still obtains or releases
// at a node would be keys of the next lock of the same token there, and stand in the way of the next lock
// of the same keys. So that one asks the node when they are over, and the other nodes at once.
//
// Tokens that the nodes make are those of one request, so without a token of the caller's it is about
// write locks alone, and about courtesy: a set is known by its first write key.
type debts struct {
	mu sync.Mutex
	by map[debtor]map[chan struct{}]*Lock // closed when paid
}

// A debtor is known at one node by the token or, without one, by the key.
type debtor struct {
	token, key string
	node       int
}

// debtor returns whose debts those of a request are; false: nobody's.
func (w *want) debtor(i int) (debtor, bool) {
	switch {
	case w.opt.Token != "":
		return debtor{token: w.opt.Token, node: i}, true
	case len(w.write) > 0:
		return debtor{key: w.write[0], node: i}, true
	}
	return debtor{}, false
}

// spawnFor runs fn, which asks a node about a lock, on a goroutine.
func (c *Client) spawnFor(i int, w *want, l *Lock, fn func()) {
	who, ok := w.debtor(i)
	if !ok {
		c.spawn(fn)
		return
	}
	paid, d := make(chan struct{}), &c.debts
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.by == nil {
		d.by = make(map[debtor]map[chan struct{}]*Lock)
	}
	if d.by[who] == nil {
		d.by[who] = make(map[chan struct{}]*Lock)
	}
	d.by[who][paid] = l
	c.spawn(func() {
		defer d.pay(who, paid)
		fn()
	})
}

func (d *debts) pay(who debtor, paid chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(paid)
	if delete(d.by[who], paid); len(d.by[who]) == 0 {
		delete(d.by, who)
	}
}

// Owed is what was under way at a node at some moment.
type owed []<-chan struct{}

// owed returns what a request has to wait for. It is to be asked before that one is spawned, which would
// wait for itself. Of keys that others of this Client hold, or ask for as well, nothing is owed.
func (d *debts) owed(i int, w *want) owed {
	who, ok := w.debtor(i)
	if !ok {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var all owed
	for paid, l := range d.by[who] {
		if who.token != "" || l.gone.Load() {
			all = append(all, paid)
		}
	}
	return all
}

// settle waits until all of it is over; false: ctx has ended before.
func (o owed) settle(ctx context.Context) bool {
	for _, paid := range o {
		select {
		case <-paid:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
