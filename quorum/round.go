package quorum

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// grace is how long an operation goes on after the end of its context: for answers that are on their
// way.
const grace = 100 * time.Millisecond

// A round asks several nodes the same thing at once, and knows when enough of them have answered.
type round struct {
	quorum *Client
	want   *want // what it is about
	lock   *Lock // the lock that asks
	question
	request

	mu sync.Mutex
	votes
	ending
}

// A question is what a round asks each node, and when it has asked enough.
type question struct {
	need   int         // so many have to say yes
	stays  bool        // its requests are sent by the goroutines that ask: see stay
	every  bool        // it does not end before every node that is waited for has answered
	enough func() bool // reports whether the majority that has answered is enough; nil: it always is
	ask    func(i int) answer
	late   func(i int, a answer) // takes an answer that comes after the end; may be nil
}

// A request is what the requests of one round have in common, until all are answered, or until the node time-out.
type request struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer

	errands []errand // by node
}

// Votes are what the nodes have answered; by node, where there is one for each.
type votes struct {
	answers []answer // not changed after the end
	waited  []bool   // worth waiting for
	asked   []bool   // and not answered yet
	prompt  []bool   // among the first majority that has said yes or no; not changed after the end
	open    int      // not answered yet
	hopes   int      // and worth waiting for
	yes     int
	prompts int
}

// An ending says how far a round has ended.
type ending struct {
	over   bool
	ended  chan struct{} // closed when it is over
	hushed bool          // nobody is worth waiting for any more
	quiet  chan struct{} // closed then; nil while nobody waits for that
}

// An answer is the answer of one node.
type answer struct {
	kind  kind
	again bool // it may be another one if the node is asked again
	lock  *redislock.Lock
	ttl   time.Duration
	err   error
}

type kind uint8

const (
	absent  kind = iota // the node has nothing to be asked for
	open                // it has not answered
	yes                 // it has done it
	no                  // it cannot: somebody else holds a key, or we do not any more
	failed              // it has not done it
	unknown             // it may have done it, or may yet do it
)

// answerOf sorts the error of a node.
func answerOf(err error) answer {
	a := answer{kind: failed, err: err}
	switch {
	case err == nil:
		a.kind = yes
	case errors.Is(err, redislock.ErrUnknownOutcome):
		a.kind = unknown
	case errors.Is(err, redislock.ErrNotObtained), errors.Is(err, redislock.ErrLockNotHeld):
		a.kind = no
	}
	return a
}

// newRound prepares a round. [round.enter] adds the nodes that it asks.
func (c *Client) newRound(w *want, l *Lock) *round {
	n := len(c.nodes)
	flags := make([]bool, 3*n)
	return &round{
		quorum: c, want: w, lock: l, question: question{need: c.need},
		request: request{errands: make([]errand, n)},
		votes:   votes{answers: make([]answer, n), waited: flags[:n:n], asked: flags[n : 2*n : 2*n], prompt: flags[2*n:]},
		ending:  ending{ended: make(chan struct{})},
	}
}

// enter says that a node is to be asked, and whether it is worth waiting for.
func (r *round) enter(i int, wait bool) {
	r.answers[i].kind, r.waited[i], r.asked[i] = open, wait, true
	r.open++
	if wait {
		r.hopes++
	}
}

// begin asks. If the nodes that are worth waiting for cannot be enough, it waits for all nodes.
func (r *round) begin(ctx context.Context) {
	if r.hopes < r.need {
		for i := range r.waited {
			r.waited[i] = r.answers[i].kind == open
		}
		r.hopes = r.open
	}
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if r.stays {
		r.ctx = stay(r.ctx, r.want.patience)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = time.AfterFunc(r.want.inTime(), r.expire)
	for i := range r.errands {
		if e := &r.errands[i]; r.answers[i].kind == open {
			e.round, e.index = r, i
			e.owe(r.quorum.nodes[i], r.want, r.lock)
			r.quorum.send(e)
		}
	}
	r.judgeLocked()
	if r.open == 0 {
		r.timer.Stop()
		r.cancel(nil)
	}
}

// take takes in an answer.
func (r *round) take(i int, a answer) {
	r.mu.Lock()
	r.asked[i] = false
	if !r.over {
		r.answers[i] = a
		if a.kind == yes {
			r.yes++
		}
		if (a.kind == yes || a.kind == no) && r.prompts < r.need {
			r.prompt[i] = true
			r.prompts++
		}
	} else if r.late != nil {
		r.mu.Unlock()
		r.late(i, a)
		r.mu.Lock()
	}
	r.open--
	if r.waited[i] {
		r.hopes--
	}
	r.judgeLocked()
	last := r.open == 0
	r.mu.Unlock()
	if last {
		r.timer.Stop()
		r.cancel(nil)
	}
}

// judgeLocked ends the round if nothing that is worth waiting for can change the outcome.
func (r *round) judgeLocked() {
	if !r.over && r.yes < r.need && r.yes+r.hopes < r.need && r.yes+r.open >= r.need {
		for i := range r.waited { // now they are needed
			r.waited[i] = r.asked[i]
		}
		r.hopes = r.open
	}
	if r.hopes == 0 || !r.every && (r.yes+r.hopes < r.need || r.yes >= r.need && (r.enough == nil || r.enough())) {
		r.endLocked()
	}
	if r.hopes == 0 {
		r.hushLocked()
	}
}

// hushLocked says that nobody is worth waiting for any more.
func (r *round) hushLocked() {
	if !r.hushed {
		r.hushed = true
		if r.quiet != nil {
			close(r.quiet)
		}
	}
}

// isOver reports whether the round is over. To know what has become of the lock, hold its mutex.
func (r *round) isOver() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over
}

func (r *round) endLocked() {
	if !r.over {
		r.over = true
		close(r.ended)
	}
}

// halting is how long before the node time-out requests that a server has refused for the moment stop
// asking again, so that they can say so. It is a tenth of the time-out at most.
const halting = 20 * time.Millisecond

func (w *want) halting() time.Duration { return min(halting, w.patience/10) }

// stay has the goroutines of a round send their requests themselves, which spares two changes of goroutine. But such
// a goroutine has to wait until the Redis client gives up. Nobody waits for it any more when the node time-out is
// over, but if there is no answer at all the clean-up begins as much later. So stay is used only if the Redis client
// gives up within five times the node time-out, as it does by default.
func stay(ctx context.Context, patience time.Duration) context.Context {
	return wire.Stay(ctx, 5*patience)
}

// inTime is how long a node has for an answer that certainly counts.
func (w *want) inTime() time.Duration { return w.patience - w.halting() }

// expire is the node time-out. The nodes are suspected before anybody asks them again.
func (r *round) expire() {
	r.cancel(errSilent)
	r.mu.Lock()
	if !r.hushed {
		r.quiet = make(chan struct{})
		r.mu.Unlock()
		r.await(r.ctx, r.quiet, r.want.halting())
		r.mu.Lock()
	}
	for i := range r.answers {
		if r.asked[i] {
			r.quorum.nodes[i].learn(answer{kind: unknown}, false, r.want)
		}
		r.quorum.forgo(&r.errands[i])
	}
	r.endLocked()
	r.hushLocked()
	r.mu.Unlock()
}

// wait returns when the round is over, at the latest a while after the end of ctx. The requests go
// on in the background.
func (r *round) wait(ctx context.Context, patience time.Duration) {
	if r.await(ctx, r.ended, patience) {
		return
	}
	r.mu.Lock()
	r.endLocked()
	r.mu.Unlock()
}

// await reports whether something has happened before ctx has ended and patience has run out.
func (r *round) await(ctx context.Context, what <-chan struct{}, patience time.Duration) bool {
	select {
	case <-what:
		return true
	case <-ctx.Done():
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-what:
		return true
	case <-timer.C:
		return false
	}
}

// count returns how many nodes have given such an answer.
func (r *round) count(kinds ...kind) int {
	n := 0
	for i := range r.answers {
		for _, k := range kinds {
			if r.answers[i].kind == k {
				n++
			}
		}
	}
	return n
}
