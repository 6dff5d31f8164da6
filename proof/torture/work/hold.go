package work

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/proof/torture/history"
)

// A hold is a lock as its caller and the history know it, from the moment that it is asked for.
type hold struct {
	*caller
	op          int    // of the obtain
	events      string // the name that its events have, if it is not op
	pkg         history.Package
	way         history.Way
	write, read []string
	longest     time.Duration // ttl that was asked for
	renews      bool
	told        told
	whole       bool // it has parts, at other places or servers, which have events of their own

	mu       sync.Mutex
	lock     held.Lock // nil until the obtain has returned
	quiet    int       // operations that end the lease, or make it shorter, are under way or were made
	deadline time.Time // that was written down last
	saidLost bool
	released error         // what the hook was told of the last Release
	came     history.Came  // as the hook has told
	over     chan struct{} // closed when the caller has ended the lock
}

// told says how a caller learns that its lock is lost.
type told int

const (
	byNobody told = iota
	byContext
	byChannel
	byHook
	byWith // the context of the function
)

// add writes an event about the hold down.
func (h *hold) add(e history.Event) {
	e.Client, e.Package = h.number, h.pkg
	if e.Op == 0 {
		e.Op = h.op
	}
	h.out.Add(e)
}

// begin takes note that the lock was obtained, and writes the Return. From then on the caller learns of its loss.
func (h *hold) begin(lock held.Lock) {
	h.mu.Lock()
	h.lock, h.deadline, h.over = lock, lock.Deadline(), make(chan struct{})
	e := history.Event{
		Kind: history.Return, Op: h.op, Action: history.Obtain, Outcome: history.OK, Lock: h.op,
		Until: until(h.deadline), Watched: h.told != byNobody, Renewed: h.renews, Came: h.came,
	}
	if e.Came == "" && h.given.has(h.name()) {
		e.Came = history.Carried
	}
	if fenced, ok := lock.(held.Fenced); ok {
		e.Fence = fenced.Fence()
	}
	h.add(e)
	h.mu.Unlock()
	h.listen()
}

// until puts a deadline on the clock of the history; 0 if there is none.
func until(deadline time.Time) time.Duration {
	if deadline.IsZero() {
		return 0
	}
	return history.On(deadline)
}

// listen has a loss written down as soon as the caller is told of it.
func (h *hold) listen() {
	switch h.told {
	case byContext:
		h.hear(h.lock.Context(context.Background()))
	case byChannel:
		lost, over := h.lock.Lost(), h.over
		h.background.Go(func() {
			select {
			case <-lost:
				h.lost(byChannel)
			case <-over:
			}
		})
	case byHook: // it is called for a lock that is watched
		_ = h.lock.Lost()
	}
}

// hear writes a loss down if that is why ctx, a context of the lock, ends.
func (h *hold) hear(ctx context.Context) {
	h.background.Add(1)
	context.AfterFunc(ctx, func() {
		defer h.background.Done()
		if errors.Is(context.Cause(ctx), redislock.ErrLockLost) {
			h.lost(byContext)
		}
	})
}

// lost writes down that the caller was told of the loss.
func (h *hold) lost(by told) {
	now := history.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lock == nil || h.saidLost || h.told != by && (h.told != byWith || by != byContext) {
		return
	}
	h.saidLost = true
	h.add(history.Event{At: now, Kind: history.Lost, Lock: h.op, Until: until(h.lock.Deadline())})
}

// renewed writes down that the watchdog has moved the deadline; or another hold of the owner, for one of package reentrant.
func (h *hold) renewed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lock == nil || !h.renews && h.pkg != history.Reentrant || h.quiet > 0 || h.saidLost {
		return
	}
	if deadline := h.lock.Deadline(); deadline.After(h.deadline) {
		h.deadline = deadline
		h.add(history.Event{Kind: history.Renewal, Lock: h.op, Until: until(deadline)})
	}
}

// lastReleased is what the hook was told of the last Release.
func (h *hold) lastReleased() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.released
}

// freed takes note of what a Release has said to the hook.
func (h *hold) freed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = err
}

// do makes an operation on the lock, and writes it down. One that is quiet may end the lease or make it shorter.
func (h *hold) do(ctx context.Context, e history.Event, quiet bool, fn func() error) error {
	e = h.calls(e, quiet)
	err := fn()
	h.returns(ctx, e, err)
	return err
}

// calls writes the Call of an operation on the lock, and returns it with its number. If it is quiet no renewals are written
// down any more, or not before it has returned.
func (h *hold) calls(e history.Event, quiet bool) history.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	if quiet {
		h.quiet++
	}
	h.released = nil
	e.Lock, e.Package = h.op, h.pkg
	e.Op = h.call(e)
	return e
}

// returns writes the Return of an operation that ended with err.
func (h *hold) returns(ctx context.Context, call history.Event, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := history.Event{Kind: history.Return, Op: call.Op, Action: call.Action, Lock: h.op}
	describe(ctx, &e, err)
	if e.Outcome != history.NotHeld && changesLease(e.Action) {
		h.deadline = h.lock.Deadline()
		e.Until = until(h.deadline)
	}
	if fenced, ok := h.lock.(held.Fenced); ok && err == nil {
		e.Fence = fenced.Fence()
	}
	h.add(e)
	if changesLease(e.Action) {
		h.quiet = 0
	}
}

// changesLease reports whether the Return of an operation has the new deadline.
func changesLease(a history.Action) bool {
	return a == history.Refresh || a == history.Upgrade || a == history.Downgrade
}

// end takes note that the caller has ended the lock.
func (h *hold) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over != nil {
		close(h.over)
		h.over = nil
	}
	h.holds.drop(h)
}

// ended reports whether the caller has ended the lock.
func (h *hold) ended() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over == nil
}
