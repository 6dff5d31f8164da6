package redislock

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/lease"
	"github.com/seed-14de3678/redislock/internal/local"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// Obtains of one Client that queue for the same set stand in a line here, and the first of them alone stands in Redis. A
// Release of the Client can give its keys to the first before that has asked. Those that poll ask in place of one another, and a
// Release can give its keys to one of them. See package local.

// isLocal reports whether an obtaining stands in such a line. It asks by itself if it may be refused for something else
// than its keys, if it counts on keys that it has, or if it waits for a lock under which it runs.
func (o *obtaining) isLocal() bool {
	w, ctx := &o.want, o.caller
	if w.tokenKnown || w.set.Writes == 0 || o.client.asksServer() || wire.IsStaying(ctx) || pace.IsStep(ctx) {
		return false
	}
	if _, has := inctx.LookupCaller(ctx); has {
		return false
	}
	for l := range inctx.Each(ctx) {
		if l, is := l.(*Lock); is && l.keepsFrom(o) {
			return false
		}
	}
	return true
}

// lineKey tells apart sets of which a lock of one cannot be given to an Obtain of another.
func lineKey(set keySet) local.Key {
	key := local.Key{First: set.Keys[0], Write: set.Writes}
	var rest []byte
	if set.IsFenced() {
		rest = append(rest, 'f')
	}
	for _, key := range set.Keys[1:] {
		rest = strconv.AppendInt(append(rest, '|'), int64(len(key)), 10)
		rest = append(append(rest, ':'), key...)
	}
	key.Rest = string(rest)
	return key
}

// join has an obtaining come last among those of its Client. It reports whether it is to wait there.
func (o *obtaining) join(ctx context.Context) bool {
	w := &local.Waiter{
		Next: proto.Next{Value: &o.want.value, TTL: o.want.ttl}, Arrived: o.asked.began, Polls: !o.want.queues,
		Blocks: o.want.fenced && o.want.passOn > 0,
	}
	if o.want.passOn > 0 {
		w.Alike = o.want.alike()
	}
	if end, ends := ctx.Deadline(); ends {
		w.Until = clock.Now().Add(time.Until(end))
	}
	o.behind = w
	waits := o.client.local.Join(w, lineKey(o.want.set))
	if waits && o.asked.last == nil {
		o.asked.last = ErrNotObtained
		if conflict := o.conflictHere(); conflict != nil {
			o.asked.last = conflict
		}
	}
	return waits
}

// comeFirst has an obtaining stand in the line of its Client, if it may, until it is to ask. It returns the lock if a Release
// has given it that.
func (o *obtaining) comeFirst(ctx context.Context) (*Lock, error) {
	if o.alone || !o.join(ctx) {
		return nil, nil
	}
	o.beginsToWait(ctx)
	o.sheds()
	lock, _, err := o.listenHere(ctx, nil)
	return lock, err
}

// sheds drops what the short way has made for an obtaining that it was refused: it is made anew when it is needed.
func (o *obtaining) sheds() {
	if o.line = nil; o.made == nil || o.left.keys() || o.made.owner.Load() != nil {
		return
	}
	set := &o.want.set
	names := slices.Concat(set.Keys, set.Lines) // they may be in the lock
	set.Keys, set.Lines, o.made = names[:len(set.Keys):len(set.Keys)], names[len(set.Keys):], nil
}

// listenHere waits until an obtaining that waits for others of its Client is to ask, or is due. It returns the lock if a Release
// has given it that.
func (o *obtaining) listenHere(ctx context.Context, timer <-chan time.Time) (lock *Lock, due bool, err error) {
	for {
		if o.client.closed.Load() {
			return nil, false, nil
		}
		select {
		case <-o.behind.C(): // which is also when the Client is closed
		case <-timer:
			return nil, true, nil
		case <-ctx.Done():
			lock, err = o.endBehind(ctx)
			return lock, false, err
		}
		if lock, asks, err := o.heardHere(ctx); lock != nil || asks || err != nil {
			return lock, false, err
		}
	}
}

// heardHere looks what an obtaining that waits for others of its Client has to do. It returns the lock if it was given that.
func (o *obtaining) heardHere(ctx context.Context) (lock *Lock, asks bool, err error) {
	switch state, doubtful := o.client.local.State(o.behind); {
	case doubtful:
		o.mayBeGiven()
		return nil, true, nil
	case state == local.Given:
		if lock, err = o.given(ctx); lock == nil {
			o.client.local.Quit(o.behind) // it is given that once
		}
		return lock, lock == nil, err
	default:
		return nil, state == local.Asks, nil
	}
}

// quitHere has an obtaining wait for nobody of its Client any more. It returns the lock if it was given that.
func (o *obtaining) quitHere(ctx context.Context) (*Lock, error) {
	switch o.client.local.Quit(o.behind) {
	case local.Given:
		return o.given(ctx)
	case local.Carried:
		o.mayBeGiven()
	}
	return nil, nil
}

// endBehind ends the waiting of an obtaining whose context has ended. If nobody knows who is in its way it asks once.
func (o *obtaining) endBehind(ctx context.Context) (*Lock, error) {
	if lock, err := o.quitHere(ctx); lock != nil || err != nil {
		return lock, err
	}
	if conflict := o.conflictHere(); conflict != nil {
		o.asked.conflict = conflict
	}
	if o.asked.conflict == nil && !o.left.keys() {
		if lock, err := o.ask(ctx, noIntent); err == nil || isLast(err) {
			return lock, err
		}
	}
	return nil, o.contextEnded(ctx)
}

// given makes the lock of an obtaining that was given it. If it has waited too long to be told, it asks: the keys are most
// likely its own.
func (o *obtaining) given(ctx context.Context) (*Lock, error) {
	g, after := o.behind.Grant()
	if after != nil {
		select {
		case <-after:
		case <-ctx.Done(): // it waits for no hook
		}
	}
	if h, is := g.Hold.(*hold); is {
		return o.takeOver(h)
	}
	o.asked.count++
	if clock.Now().Since(g.Sent) >= clock.Window(o.want.ttl)/2 {
		o.left.unused = true
		return nil, nil
	}
	return o.obtained(g.Sent, g.Numbers)
}

// mayBeGiven notes that a Release which was not answered may still give the lock to an obtaining: what that asks next, or
// its clean-up, closes the Release.
func (o *obtaining) mayBeGiven() {
	o.left.unanswered = true
	a := &o.lock().asker
	owner := a.sureOwner()
	defer owner.Done(a.token())
	set := o.want.set
	owner.Abandon(&owners.Note{By: o.client.conn, Keys: set.Keys, Home: set.Lines[0], Effect: owners.Takes}, true)
}

// conflictHere is what is known in this Client to be in the way of an obtaining, since it waits; nil if nothing is.
func (o *obtaining) conflictHere() *ConflictError {
	holder, seen := o.behind.Blocker(o.asked.began)
	if l, is := holder.(*Lock); is {
		l.mu.Lock()
		left, isHeld := clock.Now().Until(l.lease.Deadline), l.state == held
		l.mu.Unlock()
		if !isHeld {
			return nil // its Release is under way
		}
		set := o.want.set
		return &ConflictError{Key: set.Keys[0][set.cut:], Mode: ModeWrite, Metadata: l.Metadata(), TTL: left}
	}
	conflict, _ := seen.(*ConflictError)
	return conflict
}

// leaveHere ends the waiting in this Client. If the obtaining has a lock, the next one waits for it.
func (o *obtaining) leaveHere(lock *Lock) {
	w := o.behind
	if w == nil {
		return
	}
	if w.Polls {
		o.client.inLine.Add(-1)
	}
	if lock == nil {
		if given, _ := o.quitHere(o.caller); given != nil { // in this moment, and nobody takes it
			given.giveBack(o.caller)
		}
		return
	}
	var until clock.Moment
	if o.want.passOn > 0 {
		until = lock.lease.Obtained.Add(o.want.passOn)
	}
	line := o.client.local.Holds(w, lock, hasKeys, until)
	lock.mu.Lock()
	lock.line = line
	lock.mu.Unlock()
}

// An alike says which Obtains may have the same hold one after the other: those that ask for the same.
type alike struct {
	ttl      time.Duration
	metadata string
	watchdog bool
	passOn   time.Duration
}

// alike is that of an Obtain.
func (w *want) alike() alike {
	return alike{w.ttl, w.value[len(proto.TokenOf(w.value)):], w.watchdog, w.passOn}
}

// takeOver makes the lock of an obtaining to which a hold was passed on. If it has waited too long to be told, it gives the
// keys back, and asks.
func (o *obtaining) takeOver(h *hold) (*Lock, error) {
	l := &Lock{asker: asker{client: o.client, value: h.value}, label: o.label}
	l.set, l.lease, l.numbers = h.set, h.lease, h.numbers
	if h.set.IsFenced() {
		l.numbers.First++
	}
	at := clock.Now()
	if l.lease.Obtained = at; o.caller.Err() == nil && l.lease.Left(at) >= l.lease.TTL/2 {
		if o.made = l; o.want.watchdog {
			l.mu.Lock()
			l.watchLocked(true)
			l.mu.Unlock()
		}
		return l, nil
	}
	l.giveBack(o.caller)
	if o.caller.Err() == nil {
		return nil, nil
	}
	return nil, o.contextEnded(o.caller)
}

// giveBack frees the keys of a lock that nobody was given, and of which no hook was told.
func (l *Lock) giveBack(ctx context.Context) {
	l.mu.Lock()
	p, end := l.stopLocked()
	l.mu.Unlock()
	end(context.Canceled)
	p.keep = clock.Moment{}
	_ = l.free(ctx, p, sent{})
}

// A Release may pass its hold on to the next Obtain of the Client, without Redis: see Options.PassOn. The model in
// proof/models/passing shows what that needs.

// A hold is what is passed on: the keys, under the value and with the lease that they have in Redis.
type hold struct {
	value   string
	set     keySet
	lease   lease.Lease
	numbers proto.Numbers // of its lock, if it is fenced; others come after that
}

// holdLocked returns the hold of a lock that its Release may pass on if its line allows that: half of its ttl is left, no
// request but renewals has changed it, nobody else knows its token, and there is a fencing number for the next lock.
func (l *Lock) holdLocked(ctx context.Context) *hold {
	if l.line == nil || l.state != held || l.keep != (clock.Moment{}) || l.lease.Changes > 0 ||
		l.set.IsFenced() && l.numbers.First >= l.numbers.Last ||
		l.lease.Left(clock.Now()) < l.lease.TTL/2 || l.tokenKnown.Load() || l.owner.Load() != nil || pace.IsGivingBack(ctx) {
		return nil
	}
	return &hold{l.value, l.set, l.lease, l.numbers}
}

// hasKeys reports whether a lock of the Client may have its keys still: it has not ended by itself, and was not lost.
func hasKeys(lock any) bool {
	l := lock.(*Lock)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state != lost && !clock.Now().Reached(l.lease.Deadline)
}
