package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/proto"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// A leasing is an operation that begins a new lease. The model in proof/models/renewal shows that neither it nor a renewal
// brings a released lock back, and that no lock counts on a lease that it may not have.
type leasing struct {
	name  string
	ttl   time.Duration
	keeps bool                // from now on it shortens no lease: another lock of the token has obtained meanwhile
	call  func(keySet) *call  // builds its call for the set as it is
	apply func(proto.Verdict) // takes note, with mu held, of what has changed beside the lease; may be nil
	// drop, if not nil, does what apply does when the operation is dropped because other locks of the token have
	// obtained the keys meanwhile.
	drop func()
}

// lease runs a script that gives the set a new lease.
func (l *Lock) lease(ctx context.Context, op *leasing) (err error) {
	began := clock.Now()
	defer func() { l.reportRefreshed(ctx, began, err) }()
	if err := l.enter(ctx, op.name); err != nil {
		return err
	}
	defer func() { <-l.change.turn }()
	owner := l.ownerNow()
	defer owner.Done(l.token())
	since := owner.Begin()
	for rounds := 0; ; rounds++ {
		set := l.snapshot()
		l.begin(clock.Now(), op.ttl)
		r := op.call(set)
		r.isOf(&l.asker, owner)
		r.since(since)
		r.Replicas = replicasFor(l.client.replicas, op.ttl)
		r.Remaining = l.remaining
		if !l.client.do(ctx, r, patience) {
			count := l.changes() + 1
			if r.Abandon(func(*wire.Call) { l.leasedLate(r, op, count) }) {
				l.abandon()
				return interrupted(ctx, op.name, set)
			}
		}
		if redo, err := l.leased(r, op); !redo || rounds == mostOvertaken {
			return err
		}
	}
}

// remaining is for how long the lock is still ours, as far as we know.
func (l *Lock) remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state != held:
		return 0
	case l.deadline == (clock.Moment{}):
		return maxTTL
	}
	return -clock.Now().Since(l.deadline)
}

// enter waits for the turn to change the lease. The turns matter: if two requests with different ttls are under way
// together, nobody knows which one the server executes last.
func (l *Lock) enter(ctx context.Context, operation string) error {
	l.mu.Lock()
	if l.change == nil {
		l.change = &change{turn: make(chan struct{}, 1)}
	}
	turn := l.change.turn
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
	switch {
	case l.state != held:
		if asks {
			<-turn
		}
		return fmt.Errorf("redislock: %s %s: %w", operation, l.set, l.endedLocked())
	case !asks:
		return fmt.Errorf("redislock: %s %s: not asked: %w", operation, l.set, context.Cause(ctx))
	}
	return nil
}

// verdict reads the answer to a request about all keys of the lock. redo says that nothing was done, and the operation is
// to ask again: ReleaseKeys has freed keys meanwhile, or other locks of the token have obtained some. Then err says what
// is wrong if that never ends.
func (l *Lock) verdict(operation string, r *call) (v proto.Verdict, redo bool, err error) {
	set := l.snapshot()
	if r.Err != nil {
		return v, false, fault(operation, set, r)
	}
	v, err = r.run.Verdict(r.Reply)
	switch {
	case err != nil:
	case v.Code == proto.NotYours && !l.freedMeanwhile(v.Missing):
		return v, false, l.missing(operation, v.Missing)
	case v.Code == proto.NotYours, v.Code == proto.Overtaken:
		redo, err = true, r.garbled()
	case v.Code == proto.Refused:
		return v, false, newConflict(&v.Conflict, set.cut)
	case r.short() != nil:
		err = fmt.Errorf("%w: %w", ErrUnknownOutcome, r.short())
	default:
		return v, false, nil
	}
	return v, redo, fmt.Errorf("redislock: %s %s: %w", operation, set, err)
}

// leased handles the outcome of a call that was to give the set a new lease.
func (l *Lock) leased(r *call, op *leasing) (redo bool, err error) {
	l.answered(r)
	v, redo, err := l.verdict(op.name, r)
	switch {
	case err == nil:
		return false, l.extended(r.Sent, op, v)
	case redo && v.Code == proto.Overtaken:
		return l.overtaken(r, op, err)
	case r.Err != nil && !errors.Is(err, ErrUnknownOutcome):
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.state != held {
			err = fmt.Errorf("%w: %w", err, l.endedLocked()) // since it was asked
		}
	}
	return redo, err
}

// abandon notes that nobody waits any more for what is under way: the next request closes it. Renewals that were sent
// before close nothing, so they do not count.
func (l *Lock) abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.change.pending = 0
	l.change.count++
}

// changes counts the changes of the lease.
func (l *Lock) changes() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.change.times()
}

// leasedLate handles the outcome of a call that was abandoned, unless another one has begun since then.
func (l *Lock) leasedLate(r *call, op *leasing, count int) {
	select {
	case l.change.turn <- struct{}{}:
	default:
		return
	}
	defer func() { <-l.change.turn }()
	l.mu.Lock()
	latest := l.change.count == count
	l.mu.Unlock()
	if latest {
		_, _ = l.leased(r, op)
	}
}

// overtaken handles a call that did nothing because a later request of the owner was executed before it. The operation
// goes on, but undoes nothing that other locks of the token have obtained. err is its error if that never ends.
func (l *Lock) overtaken(r *call, op *leasing, err error) (redo bool, _ error) {
	drops := op.drop != nil && r.yields()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state != held:
		return false, fmt.Errorf("redislock: %s %s: %w", op.name, l.set, l.endedLocked())
	case len(l.set.keys) < len(r.Keys): // by its own ReleaseKeys
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
	certain := l.certainLocked(op.ttl)
	deadline := sent.Add(clock.Window(certain))
	tooLate := clock.Now().Reached(deadline)
	if l.state == held && !tooLate {
		l.ttl, l.deadline, l.certain = op.ttl, deadline, certain
		if op.apply != nil {
			op.apply(v)
		}
		if l.watch != nil {
			l.watch.planLocked(sent)
		}
	}
	var ended error
	if l.state != held {
		ended = l.endedLocked()
	}
	l.mu.Unlock()
	switch {
	case ended != nil:
		return fmt.Errorf("redislock: %s %s: %w", op.name, l.snapshot(), ended)
	case tooLate:
		err := fmt.Errorf("%w: the answer came after the new lease had ended", ErrLockNotHeld)
		l.lose(err)
		return fmt.Errorf("redislock: %s %s: %w", op.name, l.snapshot(), err)
	}
	return nil
}

// missing makes the error for keys that are no longer ours.
func (l *Lock) missing(operation string, keys []string) error {
	err := l.whyMissing(keys, l.snapshot().cut)
	l.lose(err)
	return fmt.Errorf("redislock: %s %s: %w", operation, l.snapshot(), err)
}

// A change is what a lock knows of the Refresh, Downgrade or Upgrade that is under way.
type change struct {
	turn    chan struct{} // full while there is one
	pending time.Duration // the ttl that was asked for; 0 if no change is under way
	before  clock.Moment  // the deadline that it has lowered; zero if it has not
	certain time.Duration // of that deadline
	count   int           // how often a change began or ended
}

// times is how often; the lease of a lock without changes has never changed.
func (c *change) times() int {
	if c == nil {
		return 0
	}
	return c.count
}

// begin notes a request that is about to be sent: from then on the lease may be the one that the request asks for.
func (l *Lock) begin(at clock.Moment, ttl time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.change.pending, l.change.before = ttl, clock.Moment{}
	l.change.count++
	l.longest = max(l.longest, ttl)
	if deadline := l.deadline.Earlier(at.Add(clock.Window(ttl))); l.deadline != (clock.Moment{}) && deadline != l.deadline {
		l.change.before, l.change.certain = l.deadline, l.certain
		l.deadline, l.certain = deadline, min(l.certain, ttl)
		if l.watch != nil {
			l.watch.planLocked(at)
		}
	}
}

// undone reports whether it is certain that no try of the call has done anything or can still do it. The server may
// have refused a command inside the script for good, after other commands of it were done.
func (r *call) undone() bool {
	_, answered := errors.AsType[redis.Error](r.Err)
	return r.Err != nil && !r.IsUnanswered() && (wire.Classify(r.Err) == wire.Passing || wire.Classify(r.Err) == wire.Final && !answered)
}

// answered ends what begin began. If nothing was done, the lease is what it was before.
func (l *Lock) answered(r *call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.change.pending = 0
	l.change.count++
	undone := r.undone() || r.isOvertaken() && !r.IsUnanswered()
	if undone && l.state == held && l.deadline.Precedes(l.change.before) {
		l.deadline, l.certain = l.change.before, l.change.certain
		if l.watch != nil {
			l.watch.planLocked(clock.Now())
		}
	}
}

// certainLocked returns how much of a confirmed ttl is certain. A lease that is asked for and not answered yet may
// begin after the confirmed one.
func (l *Lock) certainLocked(ttl time.Duration) time.Duration {
	if l.change != nil && l.change.pending > 0 {
		return min(ttl, l.change.pending)
	}
	return ttl
}

// Downgrade turns the write keys of the set into read keys, in one step, and the lease begins anew. Errors are the same
// as for Refresh. After an [ErrUnknownOutcome] the lock is held in one mode or the other.
func (l *Lock) Downgrade(ctx context.Context) error { return l.convert(ctx, "downgrade", false) }

// Upgrade turns the read keys of the set into write keys, in one step, and the lease begins anew. If somebody else
// reads one of them the error is a [*ConflictError], and the lock still reads. There is one attempt only, because two
// readers that both insisted would wait for each other. Other errors are the same as for Refresh.
func (l *Lock) Upgrade(ctx context.Context) error { return l.convert(ctx, "upgrade", true) }

// convert makes all keys write keys, or all of them read keys. The model in proof/models/modes shows that a writer is
// alone all the same, and that readers that upgrade do not wait for each other.
func (l *Lock) convert(ctx context.Context, name string, writes bool) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: %s: %w", name, err)
	}
	l.mu.Lock()
	op := &leasing{name: name, ttl: l.ttl}
	l.mu.Unlock()
	if op.ttl == 0 {
		return fmt.Errorf("redislock: %s %s: %w",
			name, l.snapshot(), invalid("ttl", "an attached lock has none before a Refresh"))
	}
	op.call = func(set keySet) *call {
		r := new(call)
		q := proto.Convert{Set: set.as(writeKeys(set, writes)).names(), Value: &l.value, TTL: op.ttl, Keeps: op.keeps}
		q.Fill(&r.run)
		return r.begins(ctx)
	}
	op.apply = func(v proto.Verdict) {
		l.set = l.set.as(writeKeys(l.set, writes))
		l.number = max(l.number, v.Number)
	}
	if !writes {
		op.drop = func() { l.set = l.set.as(0) }
	}
	return l.lease(ctx, op)
}

// writeKeys is how many write keys a set has when all of it writes, or reads.
func writeKeys(set keySet, writes bool) int {
	if writes {
		return len(set.keys)
	}
	return 0
}
