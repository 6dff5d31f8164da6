package quorum

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/seed-14de3678/redislock"
)

var (
	// errSilent says why a request is given up: the node had its time.
	errSilent = errors.New("no answer within the node time-out")
	// errSuspect says why a node was not asked.
	errSuspect = errors.New("not asked: it did not answer before, and has not done so since")
	// errTooLate says why a grant is given back.
	errTooLate = errors.New("the lock was over when the node granted it")
)

// A node is one of the servers, and what is known of its health.
//
// One that is suspected is not waited for while the others suffice, and there is one request at
// a time that tries whether it is back, so that nothing piles up at a server that hangs.
type node struct {
	quorum *Client
	client *redislock.Client

	mu     sync.Mutex
	health health
	busy   chan struct{} // closed when the request that tries a suspected node has ended; nil: there is none
}

type health uint8

const (
	well   health = iota
	down          // it could not be asked: the next lock that is asked for tries it
	silent        // it was asked and has not answered: only what leaves nothing behind tries it
)

// suspected reports whether a node is not to be waited for.
func (n *node) suspected() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.health != well
}

// A ticket says in which way a node may be asked for a lock.
type ticket struct {
	well  bool          // it is worth waiting for
	trial bool          // this request tries it
	busy  chan struct{} // not nil: another request tries it, until then it is not to be asked
}

// admit lets a request for a lock in, or has it wait for the one that tries the node.
func (n *node) admit(w *want) ticket {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.health == well:
		return ticket{well: true}
	case n.busy == nil && n.health == down:
		n.busy = make(chan struct{})
		return ticket{trial: true}
	case n.busy == nil:
		n.probeLocked(w)
	}
	return ticket{busy: n.busy}
}

// obtain asks for a lock. An Obtain asks once: whether it would do so again says if there is hope.
func (n *node) obtain(ctx context.Context, pass ticket, w *want) answer {
	if pass.busy != nil {
		select {
		case <-pass.busy:
		case <-ctx.Done():
		}
		if n.suspected() {
			return answer{kind: failed, err: errSuspect, again: true}
		}
	}
	again := false
	opt := w.opt
	opt.RetryStrategy = func() backoff.BackOff {
		again = true
		return &backoff.StopBackOff{}
	}
	lock, err := n.client.ObtainMixed(ctx, w.write, w.read, w.ttl, &opt)
	a := answerOf(err)
	a.lock, a.again = lock, again || a.kind == no || a.kind == unknown || errors.Is(err, errSilent)
	n.learn(a, pass.trial, w)
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
	case a.kind == unknown:
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

// probeLocked asks a silent node something that changes nothing, and waits as long as its client
// does. If the answer takes longer than the longest node time-out, which it does if the node was
// stopped, it asks once more; a node that is always that slow stays suspected. One that was too slow
// for a short lease is good enough for others.
func (n *node) probeLocked(w *want) {
	key, patience := w.key(), max(w.patience, n.quorum.patience(mostTTL, 0))
	busy := make(chan struct{})
	n.busy = busy
	n.quorum.spawn(func() {
		var state health
		for range 2 {
			began := time.Now()
			_, err := n.client.Attach([]string{key}, "probe").TTL(n.quorum.ctx)
			switch answerOf(err).kind {
			case failed:
				state = down
			case unknown:
				state = silent
			default:
				state = well
			}
			if state != well || time.Since(began) <= patience {
				break
			}
			state = silent
		}
		n.mu.Lock()
		n.health, n.busy = state, nil
		n.mu.Unlock()
		close(busy)
	})
}
