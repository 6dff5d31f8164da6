package redislock

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/lease"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/proto"
)

// A Release may pass its hold on to the next Obtain of the Client, without Redis: see Options.PassOn. The model in
// proof/models/passing shows what that needs.

// A hold is what is passed on: the keys, under the value and with the lease that they have in Redis.
type hold struct {
	like   alike
	until  clock.Moment // it is passed on until then: its PassOn after the request that has obtained it was sent
	value  string
	set    keySet
	lease  lease.Lease
	number int64
}

// An alike says which Obtains may have the same hold one after the other: those that ask for the same.
type alike struct {
	ttl      time.Duration
	metadata string
	watchdog bool
	passOn   time.Duration
}

// alike is that of an Obtain with PassOn; nil without.
func (w *want) alike() any {
	if w.passOn == 0 || w.holdAtLeast > 0 {
		return nil
	}
	return alike{w.ttl, w.value[len(proto.TokenOf(w.value)):], w.watchdog, w.passOn}
}

// passableLocked returns the hold of a lock that its Release may pass on: half of its ttl is left, nothing but renewals has
// touched it, and nobody else knows its token. From then on the lock has no token.
func (l *Lock) passableLocked(ctx context.Context) *hold {
	h, at := l.passes, clock.Now()
	if h == nil || l.state != held || l.line == nil || l.keep != (clock.Moment{}) || at.Reached(h.until) ||
		l.lease.Changes > 0 || l.lease.Left(at) < l.lease.TTL/2 ||
		l.tokenKnown.Load() || l.owner.Load() != nil || pace.IsGivingBack(ctx) {
		return nil
	}
	next := *h
	next.value, next.set, next.lease, next.number = l.value, l.set, l.lease, l.number
	l.passes = &passedOn
	return &next
}

// touchedLocked notes that the hold of a lock is not to be passed on any more, and reports whether it was already.
func (l *Lock) touchedLocked() (passed bool) {
	if passed = l.passes == &passedOn; !passed {
		l.passes = nil
	}
	return passed
}

// passedOn is the hold of a lock that has passed it on.
var passedOn hold

// passOn passes a hold on, if the next Obtain of the Client has asked for the same. Otherwise the Release goes on.
func (l *Lock) passOn(p part, h *hold) bool {
	is := p.line.Pass(l, h.like, h, p.after)
	l.mu.Lock()
	defer l.mu.Unlock()
	if is {
		l.over = errReleased
	} else {
		l.passes = nil
	}
	return is
}

// takeOver makes the lock of an obtaining to which a hold was passed on. If it has waited too long to be told, it gives the
// keys back, and asks.
func (o *obtaining) takeOver(h *hold) (*Lock, error) {
	l := &Lock{asker: asker{client: o.client, value: h.value}, label: o.lock.label}
	l.set, l.lease, l.number, l.passes = h.set, h.lease, h.number, h
	at := clock.Now()
	if l.lease.Obtained = at; o.caller.Err() == nil && l.lease.Left(at) >= l.lease.TTL/2 {
		if o.lock = l; o.want.watchdog {
			l.mu.Lock()
			l.watchLocked(true)
			l.mu.Unlock()
		}
		return l, nil
	}
	l.mu.Lock()
	p, _ := l.stopLocked()
	l.mu.Unlock()
	_ = l.free(pace.GivingBack(o.caller), p, sent{})
	if o.caller.Err() == nil {
		o.client.local.Quit(&o.line.behind)
		return nil, nil
	}
	o.asked.noteEnded()
	o.asked.last = ErrNotObtained
	return nil, o.contextEnded(o.caller)
}
