package redislock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/lease"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A leasing is an operation that begins a new lease. The model in proof/models/renewal shows that neither it nor a renewal
// brings a released lock back, and that no lock counts on a lease that it may not have.
type leasing struct {
	name   string
	ttl    time.Duration
	before lease.Lease         // as it was before the latest request
	keeps  bool                // from now on it shortens no lease: another lock of the token has obtained meanwhile
	call   func(keySet) *call  // builds its call for the set as it is
	apply  func(proto.Verdict) // takes note, with mu held, of what has changed beside the lease
	// drop, if not nil, does what apply does when the operation is dropped because other locks of the token have
	// obtained the keys meanwhile.
	drop func()
}

// Refresh makes the lease of the whole set end ttl from now, even if it would have ended later. The watchdog uses this
// ttl from then on. If any key is no longer ours nothing is changed, and the error is an [ErrLockNotHeld] that names
// the lost keys. If the answer does not come in time the error is an [ErrUnknownOutcome]. Then Deadline counts on the
// shorter of the two leases, and it is safe to call Refresh again.
func (l *Lock) Refresh(ctx context.Context, ttl time.Duration) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: refresh: %w", err)
	}
	ttl, err := l.client.checkTTL(ttl)
	if err != nil {
		return fmt.Errorf("redislock: refresh: %w", err)
	}
	op := &leasing{name: "refresh", ttl: ttl, apply: func(proto.Verdict) {}}
	op.call = func(set keySet) *call {
		// If no lease that the lock may have is longer it shortens none, and then it is never too late. It becomes one that
		// shortens none if other locks of the token have obtained some of the keys meanwhile.
		keeps := op.keeps || !l.tokenKnown.Load() && op.before.Longest <= ttl
		r := l.refreshing(ctx, set, ttl, keeps)
		if op.before.Deadline != (clock.Moment{}) {
			r.WaitForSlot = maxTTL // while there is something to refresh
		}
		return r
	}
	return l.extend(ctx, op)
}

// Downgrade turns the write keys of the set into read keys, in one step, and the lease begins anew. Errors are the same
// as for Refresh. After an [ErrUnknownOutcome] the lock is held in one mode or the other.
func (l *Lock) Downgrade(ctx context.Context) error { return l.convert(ctx, "downgrade", 0) }

// Upgrade turns the read keys of the set into write keys, in one step, and the lease begins anew. If somebody else
// reads one of them the error is a [*ConflictError], and the lock still reads. There is one attempt only, because two
// readers that both insisted would wait for each other. Other errors are the same as for Refresh.
func (l *Lock) Upgrade(ctx context.Context) error { return l.convert(ctx, "upgrade", math.MaxInt) }

// convert makes all keys write keys, or all of them read keys: so many of them write. The model in proof/models/modes shows that a writer is
// alone all the same, and that readers that upgrade do not wait for each other.
func (l *Lock) convert(ctx context.Context, name string, write int) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: %s: %w", name, err)
	}
	l.mu.Lock()
	set, op := l.set, &leasing{name: name, ttl: l.lease.TTL}
	l.mu.Unlock()
	if op.ttl == 0 {
		return about(name, set, invalid("ttl", "an attached lock has none before a Refresh"))
	}
	op.call = func(set keySet) *call {
		r := new(call)
		q := proto.Convert{Set: set.as(write).Set, Value: &l.value, TTL: op.ttl, Keeps: op.keeps}
		q.Fill(&r.run)
		return r.begins(ctx)
	}
	op.apply = func(v proto.Verdict) {
		l.set = l.set.as(write)
		l.numbers.First = max(l.numbers.First, v.Number)
	}
	if write == 0 {
		op.drop = func() { l.set = l.set.as(0) }
	}
	return l.extend(ctx, op)
}

// extend runs a script that gives the set a new lease.
func (l *Lock) extend(ctx context.Context, op *leasing) (err error) {
	began := clock.Now()
	defer func() { l.reportRefreshed(ctx, began, err) }()
	if err := l.enter(ctx, op.name); err != nil {
		return err
	}
	defer func() { <-l.turn }()
	owner := l.ownerNow()
	defer owner.Done(l.token())
	since := owner.Begin()
	for rounds := 0; ; rounds++ {
		set := l.begin(op)
		r := op.call(set)
		r.isOf(&l.asker, owner)
		r.since(since)
		r.Replicas = replicasFor(l.client.replicas, op.ttl)
		r.Remaining = l.remaining
		if !l.client.do(ctx, r, patience) && r.Abandon(func(*wire.Call) { l.leasedLate(r, op) }) {
			// The next request closes it. A renewal that was sent before closes nothing, so it does not count.
			l.finish(op, false)
			return interrupted(ctx, op.name, set)
		}
		if redo, err := l.leased(r, op); !redo || rounds == mostOvertaken {
			return err
		}
	}
}

// begin notes that a request of the operation is about to be sent, and returns the set that it is about.
func (l *Lock) begin(op *leasing) keySet {
	at := clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	var earlier bool
	if op.before, earlier = l.lease.Ask(at, op.ttl); earlier {
		l.planLocked(l.lease.Next(at))
	}
	return l.set
}

// finish ends what begin has begun.
func (l *Lock) finish(op *leasing, undone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lease.Settle(op.before, undone && l.state == held) {
		l.planLocked(l.lease.Next(clock.Now()))
	}
}

// remaining is for how long the lock is still ours, as far as we know.
func (l *Lock) remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != held {
		return 0
	}
	return l.lease.Left(clock.Now())
}

// enter waits for the turn to change the lease. The turns matter: if two requests with different ttls are under way
// together, nobody knows which one the server executes last.
func (l *Lock) enter(ctx context.Context, operation string) error {
	l.mu.Lock()
	if l.turn == nil {
		l.turn = make(chan struct{}, 1)
	}
	turn := l.turn
	l.mu.Unlock()
	asks := false
	if ctx.Err() == nil { // otherwise chance would decide whether it asks
		select {
		case turn <- struct{}{}:
			asks = true
		case <-ctx.Done():
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch err := l.endedLocked(); {
	case err == nil && asks:
		return nil
	case err == nil:
		return notAsked(ctx, operation, l.set)
	default:
		if asks {
			<-turn
		}
		return about(operation, l.set, err)
	}
}

// verdict reads the answer to a request about all keys of the lock. redo says that nothing was done, and the operation is
// to ask again: ReleaseKeys has freed keys meanwhile, or other locks of the token have obtained some. Then err says what
// is wrong if that never ends.
func (l *Lock) verdict(r *call) (v proto.Verdict, redo bool, err error) {
	if r.Err != nil {
		return v, false, r.fault(r.Replicated.Never != nil)
	}
	v, err = r.run.Verdict(r.Reply)
	switch {
	case err != nil:
	case v.Code == proto.NotYours:
		if err = l.missing(v.Missing); err == nil {
			redo, err = true, r.garbled()
		}
	case v.Code == proto.Overtaken:
		redo, err = true, r.garbled()
	case v.Code == proto.Done && r.short() != nil:
		err = fmt.Errorf("%w: %w", ErrUnknownOutcome, r.short())
	}
	return v, redo, err
}

// leased handles the outcome of a call that was to give the set a new lease.
func (l *Lock) leased(r *call, op *leasing) (redo bool, err error) {
	l.finish(op, r.undone())
	v, redo, err := l.verdict(r)
	switch err = about(op.name, l.snapshot(), err); {
	case err == nil && v.Code == proto.Refused:
		return false, newConflict(&v.Conflict, l.snapshot().cut)
	case err == nil:
		return false, l.extended(r.Sent, op, v)
	case redo && v.Code == proto.Overtaken:
		return l.overtaken(r, op, err)
	case r.Err != nil && !errors.Is(err, ErrUnknownOutcome):
		l.mu.Lock()
		defer l.mu.Unlock()
		if ended := l.endedLocked(); ended != nil {
			err = fmt.Errorf("%w: %w", err, ended) // since it was asked
		}
	}
	return redo, err
}

// leasedLate handles the outcome of a call that was abandoned, unless another one has begun since then.
func (l *Lock) leasedLate(r *call, op *leasing) {
	select {
	case l.turn <- struct{}{}:
	default:
		return
	}
	defer func() { <-l.turn }()
	if l.lease.Changes == op.before.Changes+2 { // it has begun, and was abandoned; who has the turn changes this
		_, _ = l.leased(r, op)
	}
}

// overtaken handles a call that did nothing because a later request of the owner was executed before it. The operation
// goes on, but undoes nothing that other locks of the token have obtained. err is its error if that never ends.
func (l *Lock) overtaken(r *call, op *leasing, err error) (redo bool, _ error) {
	drops := op.drop != nil && r.yields()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch ended := l.endedLocked(); {
	case ended != nil:
		return false, about(op.name, l.set, ended)
	case len(l.set.Keys) < len(r.run.Keys()): // by its own ReleaseKeys
	case drops:
		op.drop()
		return false, nil
	default:
		op.keeps = true
	}
	return true, err
}

// extended begins the new lease.
func (l *Lock) extended(sent clock.Moment, op *leasing, v proto.Verdict) error {
	l.mu.Lock()
	err := l.endedLocked()
	inTime := err == nil && l.lease.Confirm(sent, clock.Now(), op.ttl)
	if inTime {
		op.apply(v)
		l.planLocked(l.lease.Next(sent))
	}
	set := l.set
	l.mu.Unlock()
	if err == nil && !inTime {
		err = fmt.Errorf("%w: the answer came after the new lease had ended", ErrLockNotHeld)
		l.lose(err)
	}
	return about(op.name, set, err)
}

// undone reports whether it is certain that no try of the call has done anything or can still do it. The server may
// have refused a command inside the script for good, after other commands of it were done.
func (r *call) undone() bool {
	_, answered := errors.AsType[redis.Error](r.Err)
	refused := r.Err != nil && (wire.Classify(r.Err) == wire.Passing || wire.Classify(r.Err) == wire.Final && !answered)
	return !r.IsUnanswered() && (refused || r.isOvertaken())
}

// refreshing prepares a new lease of ttl for a set.
func (l *Lock) refreshing(ctx context.Context, set keySet, ttl time.Duration, neverShortens bool) *call {
	r := new(call)
	proto.Refresh{Set: set.Set, Value: &l.value, TTL: ttl, NeverShortens: neverShortens}.Fill(&r.run)
	return r.begins(ctx)
}

// RaiseFence replaces the number of the lock by one that was given elsewhere, if that is greater. All numbers that are
// given for any of the keys after that are greater still. Errors are the same as for [Lock.Refresh].
func (l *Lock) RaiseFence(ctx context.Context, number int64) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: raise fence: %w", err)
	}
	if number <= 0 || number > proto.MostFence {
		return fmt.Errorf("redislock: raise fence: invalid number: %d is not between 1 and %d", number, proto.MostFence)
	}
	for rounds := 0; ; rounds++ {
		if redo, err := l.raise(ctx, number); !redo || rounds == mostOvertaken {
			return err
		}
	}
}

// raise asks once, and reports whether it has to ask again; if that has no end the error says why.
func (l *Lock) raise(ctx context.Context, number int64) (redo bool, err error) {
	l.mu.Lock()
	set, ttl := l.set, l.lease.TTL
	if err = l.endedLocked(); !set.IsFenced() {
		err = errors.New("the lock was obtained without Fenced")
	}
	l.mu.Unlock()
	if err != nil {
		return false, about("raise fence", set, err)
	}
	owner := l.ownerNow()
	defer owner.Done(l.token())
	r := new(call)
	proto.Raise{Set: set.Set, Value: &l.value, TTL: ttl, Number: number}.Fill(&r.run)
	r.begins(ctx).isOf(&l.asker, owner)
	r.Replicas = replicasFor(l.client.replicas, ttl)
	if err := l.client.ask(ctx, r, "raise fence", set, patience); err != nil {
		return false, err
	}
	if _, redo, err = l.verdict(r); err != nil {
		return redo, about("raise fence", l.snapshot(), err)
	}
	l.mu.Lock()
	l.numbers.First = max(l.numbers.First, number)
	l.mu.Unlock()
	return false, nil
}
