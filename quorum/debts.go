package quorum

import (
	"context"
	"sync"
)

// Debts are requests under way at a node that concern a later lock, too. If an ended lock still obtains or releases
// keys there, it can take or free keys of the next lock of the same token, and stand in the way of the next lock of the
// same keys. So the next lock asks the node when these requests are over, and the other nodes at once.
//
// A token that a node makes belongs to one request. So without a token of the caller's, debts are about
// write locks alone, and only spare refusals: a set is known by its first write key.
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

// debtor returns the debtor of a request; false: there is none.
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

// Owed are the debts that were under way at a node at some moment.
type owed []<-chan struct{}

// owed returns what a request has to wait for. Call it before the request is spawned, which would
// otherwise wait for itself. Keys that other locks of this Client hold, or ask for as well, owe nothing.
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

// settle waits until all of them are over; false: ctx has ended before.
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
