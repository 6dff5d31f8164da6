package quorum

import (
	"context"
	"sync"
)

// Debts are the requests under way at a node that come back to somebody. What an ended lock still obtains or
// releases there would be keys of the next lock of the same token, and stand in the way of the next lock
// of the same keys. So that one asks the node when they are over, and the other nodes at once.
//
// Tokens that the nodes make are those of one request, so without a token of the caller's it is about
// write locks alone, and about courtesy: a set is known by its first write key.
type debts struct {
	mu sync.Mutex
	by map[debtor]*debt // a list
}

// A debtor is known by the token or, without one, by the key.
type debtor struct{ token, key string }

// A debt is one request under way. Its fields are guarded by the mutex of the debts.
type debt struct {
	lock       *Lock
	paid       chan struct{} // closed when it is over; nil while nobody waits for that
	next, last *debt
}

// debtor returns whose debts those of a request are; false: nobody's.
func (w *want) debtor() (debtor, bool) {
	switch {
	case w.token != "":
		return debtor{token: w.token}, true
	case len(w.set.Write) > 0:
		return debtor{key: w.set.Write[0]}, true
	}
	return debtor{}, false
}

// owe makes an errand a debt.
func (e *errand) owe(n *node, w *want, l *Lock) {
	e.node = n
	if e.who, e.owes = w.debtor(); e.owes {
		e.debt.lock = l
		n.debts.add(e.who, &e.debt)
	}
}

func (d *debts) add(who debtor, one *debt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.by == nil {
		d.by = make(map[debtor]*debt)
	}
	if one.next = d.by[who]; one.next != nil {
		one.next.last = one
	}
	d.by[who] = one
}

func (d *debts) pay(who debtor, one *debt) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if one.paid != nil {
		close(one.paid)
	}
	if one.next != nil {
		one.next.last = one.last
	}
	switch {
	case one.last != nil:
		one.last.next = one.next
	case one.next != nil:
		d.by[who] = one.next
	default:
		delete(d.by, who)
	}
	one.next, one.last = nil, nil
}

// Owed is what was under way at a node at some moment.
type owed []<-chan struct{}

// owed returns what a request has to wait for. It is to be asked before that one is spawned, which would
// wait for itself. Of keys that others of this Client hold, or ask for as well, nothing is owed.
func (n *node) owed(w *want) owed {
	who, ok := w.debtor()
	if !ok {
		return nil
	}
	n.debts.mu.Lock()
	defer n.debts.mu.Unlock()
	var all owed
	for one := n.debts.by[who]; one != nil; one = one.next {
		if who.token != "" || one.lock.gone.Load() {
			if one.paid == nil {
				one.paid = make(chan struct{})
			}
			all = append(all, one.paid)
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
