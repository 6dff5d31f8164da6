package quorum

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock"
)

var (
	// errSilent says why a request is abandoned: the node has not answered in its time.
	errSilent = errors.New("no answer within the node time-out")
	// errSuspect says why a node was not asked.
	errSuspect = errors.New("not asked: it has not answered in time before, and not shown since that it can")
	// errBehind says the same if the node has yet to answer a request of an earlier lock.
	errBehind = errors.New("not asked again yet: an earlier request for the same token or key, which was not answered in time, is still under way there")
	// errTooLate says why a grant is given back.
	errTooLate = errors.New("the lock was over when the node granted it")
)

// A node is one of the servers, and what is known of its health.
//
// Operations do not wait for a suspected node while the others suffice. One request at a time tries
// whether it is back, so that nothing piles up at a server that hangs. Whether a node is quick enough
// depends on the lease: a node that is too slow for the node time-out of a short lease may be good enough
// for a long one.
type node struct {
	quorum *Client
	client *redislock.Client
	debts  debts

	mu     sync.Mutex
	health health
	takes  time.Duration // how long the last request took that tried it; 0: none has
	busy   chan struct{} // closed when the request that tries a suspected node has ended; nil: there is none
}

type health uint8

const (
	well   health = iota
	down          // it could not be asked: the next lock that is asked for tries it
	silent        // it was asked and has not answered: only what leaves nothing behind tries it
)

// suspected reports whether a node is not to be waited for.
func (n *node) suspected(w *want) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.suspectedLocked(w)
}

func (n *node) suspectedLocked(w *want) bool { return n.health != well || n.takes > w.inTime() }

// A ticket says in which way a node may be asked for a lock.
type ticket struct {
	well  bool          // it is worth waiting for
	trial bool          // this request tries it
	busy  chan struct{} // not nil: another request tries it, until then it is not to be asked
	owed  owed          // and not before this is over
}

// admit lets a request for a lock in, or has it wait for the one that tries the node.
func (n *node) admit(w *want) ticket {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case !n.suspectedLocked(w):
		return ticket{well: true}
	case n.busy == nil && n.health == down:
		n.busy = make(chan struct{})
		return ticket{trial: true}
	case n.busy == nil:
		n.probeLocked(w)
	}
	return ticket{busy: n.busy}
}

// obtain asks for a lock. The Obtain at the node asks once; whether it wants to ask again shows if another attempt may
// go better.
func (n *node) obtain(ctx context.Context, pass ticket, w *want) answer {
	if pass.busy != nil && !n.cleared(ctx, pass.busy, w) {
		return answer{kind: failed, err: errSuspect, again: true}
	}
	again := false
	opt := w.opt
	opt.RetryStrategy = func() redislock.BackOff {
		again = true
		return redislock.NoRetry()()
	}
	lock, err := n.ask(ctx, w, &opt)
	a := answerOf(err)
	a.lock, a.again = lock, again || a.kind == no || a.kind == unknown || errors.Is(err, errSilent)
	n.learn(a, pass.trial, w)
	return a
}

// ask asks for a lock, under the token of the whole or one of its own.
func (n *node) ask(ctx context.Context, w *want, opt *redislock.Options) (*redislock.Lock, error) {
	if w.token == "" {
		return n.client.ObtainSet(ctx, w.set, w.ttl, opt)
	}
	return n.client.As(w.token).ObtainSet(ctx, w.set, w.ttl, opt)
}

// cleared waits for the request that tries the node, and for a second one after it. It reports whether
// the node is quick enough.
func (n *node) cleared(ctx context.Context, busy chan struct{}, w *want) bool {
	for range 2 {
		select {
		case <-busy:
		case <-ctx.Done():
			return false
		}
		n.mu.Lock()
		trusted, next := !n.suspectedLocked(w), n.busy
		n.mu.Unlock()
		if trusted || next == nil {
			return trusted
		}
		busy = next
	}
	return false
}

// skip gives back the ticket of a request that is not sent.
func (n *node) skip(pass ticket, why error, w *want) answer {
	a := answer{kind: failed, err: why, again: true}
	if pass.trial {
		n.learn(a, true, w)
	}
	return a
}

// learn takes note of how a node has answered.
func (n *node) learn(a answer, trial bool, w *want) {
	if a.kind == yes && !trial {
		return // most answers
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if trial {
		close(n.busy)
		n.busy = nil
	}
	switch {
	case a.kind == unknown, a.kind == no && errors.Is(a.err, errSilent): // a grant that came too late was late, too
		n.health = silent
		if n.busy == nil {
			n.probeLocked(w)
		}
	case a.kind == failed && a.again && n.health == well:
		n.health = down
	case a.kind != failed || !a.again && !isArgument(a.err): // it has answered
		if n.health == down {
			n.health = well
		}
	}
}

// probeLocked sends a node a request that changes nothing, and waits as long as its client does. Operations with as
// little time as the one that the node missed trust it again only after an answer within that time. A longer answer may
// come from a node that was stopped, so then probeLocked asks once more.
func (n *node) probeLocked(w *want) {
	key, inTime := w.key(), w.inTime()
	busy := make(chan struct{})
	n.busy = busy
	n.quorum.spawn(func() {
		for again := true; busy != nil; again = false {
			began := time.Now()
			_, err := n.client.Attach([]string{key}, "probe").TTL(n.quorum.ctx)
			took := time.Since(began)
			n.mu.Lock()
			switch answerOf(err).kind {
			case failed:
				n.health = down
			case unknown:
				n.health = silent
			default:
				n.health, n.takes = well, took
			}
			close(busy) // now operations that have more time go on
			if busy = nil; again && n.health == well && took > inTime {
				busy = make(chan struct{})
			}
			n.busy = busy
			n.mu.Unlock()
		}
	})
}
