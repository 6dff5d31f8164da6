package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// convert makes all keys write keys, or read keys.
func (l *Lock) convert(ctx context.Context, operation string, writes bool) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: %s: %w", operation, err)
	}
	l.mu.Lock()
	ttl := l.ttl
	l.mu.Unlock()
	if ttl == 0 {
		return fmt.Errorf("redislock: %s %s: %w: an attached lock has none before a Refresh",
			operation, l.snapshot(), ErrInvalidTTL)
	}
	write := func(set keySet) int {
		if writes {
			return len(set.keys)
		}
		return 0
	}
	return l.lease(ctx, operation, ttl, func(set keySet) *call {
		c := newCall(ctx, convertScript, set.keys, set.beside(),
			&l.value, millis(ttl), write(set), flag(set.fences != nil))
		c.numbered = set.fences != nil
		return c
	}, func(rest []any) {
		l.set = l.set.as(write(l.set))
		if d := (decoder{reply: rest}); l.set.fences != nil {
			l.number = max(l.number, d.number())
		}
	})
}

// flag is how scripts are told yes or no.
func flag(yes bool) string {
	if yes {
		return "1"
	}
	return ""
}

// lease runs a script that gives the set a new lease; apply takes note of what else it changed,
// with mu held.
func (l *Lock) lease(ctx context.Context, operation string, ttl time.Duration, script func(keySet) *call, apply func([]any)) (err error) {
	began := now()
	defer func() { l.report(ctx, l.client.hooks.Refreshed, began, 1, err) }()
	if err := l.enter(ctx, operation); err != nil {
		return err
	}
	away := false // the outcome will be told
	defer func() {
		if !away {
			l.exit()
		}
	}()
	for {
		set := l.snapshot()
		l.begin(now(), ttl)
		c := script(set)
		c.ack = newAck(l.replicas, ttl)
		c.remaining = l.remaining
		if !l.client.transport.do(ctx, c, patience) {
			outcome := func(c *call) {
				_ = l.leased(c, operation, ttl, apply) // nobody waits for it any more
				l.exit()
			}
			if away = c.leave(outcome); away {
				return interrupted(ctx, operation, set)
			}
		}
		if err := l.leased(c, operation, ttl, apply); err != errShrunk { //nolint:errorlint // it is this value
			return err
		}
	}
}

// remaining is for how long the lock is ours still, as far as we know.
func (l *Lock) remaining() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.state != held:
		return 0
	case l.deadline == (moment{}):
		return maxTTL
	}
	return -now().since(l.deadline)
}

// errShrunk says that nothing was done, because ReleaseKeys has freed keys meanwhile.
var errShrunk = errors.New("the set has become smaller")

// enter waits for the turn to change the lease. The turns matter: of two requests with different
// ttls that are under way together, nobody knows which the server executes last.
func (l *Lock) enter(ctx context.Context, operation string) error {
	l.mu.Lock()
	turn := l.termsLocked().turn
	l.mu.Unlock()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("redislock: %s %s: not asked: %w", operation, l.snapshot(), context.Cause(ctx))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != held {
		<-turn
		return fmt.Errorf("redislock: %s %s: %w", operation, l.set, l.endedLocked())
	}
	return nil
}

func (l *Lock) exit() { <-l.terms.turn }

// leased takes in the outcome of a call that was to give the set a new lease.
func (l *Lock) leased(c *call, operation string, ttl time.Duration, apply func([]any)) error {
	set := l.snapshot()
	l.answered(c, operation, ttl)
	if c.err != nil {
		err := fault(operation, set, c)
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.state != held && !errors.Is(err, ErrUnknownOutcome) {
			err = fmt.Errorf("%w: %w", err, l.endedLocked()) // since it was asked
		}
		return err
	}
	code, rest, err := c.code()
	switch {
	case err != nil:
		return fmt.Errorf("redislock: %s %s: %w", operation, set, err)
	case code == 1 && c.ack.short() != nil:
		return fmt.Errorf("redislock: %s %s: %w: %w", operation, set, ErrUnknownOutcome, c.ack.short())
	case code == 1:
		return l.extended(c.sent, operation, ttl, func() {
			if apply != nil {
				apply(rest)
			}
		})
	case code == 0 && c.script == convertScript:
		d := decoder{reply: rest}
		conflict, err := decodeConflict(c.keys, &d)
		if err != nil || len(d.reply) > 0 {
			return fmt.Errorf("redislock: %s %s: %w", operation, set, err)
		}
		return conflict
	case l.freedMeanwhile(c, rest):
		return errShrunk
	}
	return l.missing(c, operation, rest)
}

// extended begins the new lease.
func (l *Lock) extended(sent moment, operation string, ttl time.Duration, apply func()) error {
	l.mu.Lock()
	certain := l.certainLocked(ttl)
	deadline := sent.add(window(certain))
	late := now().reached(deadline)
	if l.state == held && !late {
		l.ttl, l.deadline, l.counted = ttl, deadline, certain
		apply()
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
		return fmt.Errorf("redislock: %s %s: %w", operation, l.snapshot(), ended)
	case late:
		err := fmt.Errorf("%w: the answer came after the new lease had ended", ErrLockNotHeld)
		l.lose(err)
		return fmt.Errorf("redislock: %s %s: %w", operation, l.snapshot(), err)
	}
	return nil
}

// missing takes in the answer that keys are no longer ours.
func (l *Lock) missing(c *call, operation string, indexes []any) error {
	keys, err := c.lost(indexes)
	if err != nil {
		return err
	}
	err = fmt.Errorf("%w: %s", ErrLockNotHeld, listed(keys))
	l.lose(err)
	return fmt.Errorf("redislock: %s %s: %w", operation, l.snapshot(), err)
}

// The terms of a lease are what a lock has to know whose lease was changed, or whose requests were
// not all answered.
type terms struct {
	turn    chan struct{} // full while Refresh, Downgrade or Upgrade is under way
	pending time.Duration // the ttl that it asks for; 0 if none is under way
	before  moment        // the deadline that it has lowered; zero if it has not
	counted time.Duration // of that deadline
	changes int           // how often one began or ended

	// The server may yet execute requests that were not answered.
	obtain  moment        // until then one may take the keys
	waiter  string        // or stand in line for them under this id; else empty
	strays  *strays       // those of the Obtain, which may do so later; nil if there are none
	weakens moment        // until then one may make write keys read keys
	lasts   moment        // until then one may set the lease to
	ttl     time.Duration // this, if a later one has made it longer
	longest time.Duration // that any request may give
}

// termsLocked returns the terms, to be changed.
func (l *Lock) termsLocked() *terms {
	if l.terms == nil {
		l.terms = &terms{turn: make(chan struct{}, 1)}
	}
	return l.terms
}

// expects takes note of a request that may be executed until it lands.
func (t *terms) expects(lands moment, ttl time.Duration) {
	if !now().precedes(t.strays.latest(t.lasts)) {
		t.ttl = maxTTL
	}
	t.ttl, t.lasts = min(t.ttl, ttl), lands
	t.longest = max(t.longest, ttl)
}

// begin takes note of a request that is about to be sent: from then on the lease may be what it
// asks for.
func (l *Lock) begin(at moment, ttl time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.termsLocked()
	t.pending, t.before = ttl, moment{}
	t.changes++
	t.longest = max(t.longest, ttl)
	if deadline := l.deadline.earlier(at.add(window(ttl))); l.deadline != (moment{}) && deadline != l.deadline {
		t.before, t.counted = l.deadline, l.counted
		l.deadline, l.counted = deadline, min(l.counted, ttl)
		if l.watch != nil {
			l.watch.planLocked(at)
		}
	}
}

// undone reports whether it is certain that no try of the call has done anything, or can yet. What the
// server refuses for good it may have refused inside the script, behind what that had done already.
func (c *call) undone() bool {
	_, answered := errors.AsType[redis.Error](c.err)
	return c.err != nil && !c.unsure && (classify(c.err) == passing || classify(c.err) == final && !answered)
}

// answered ends what begin began; a try that was not answered may still be executed. If nothing was
// done, the lease is what it was before.
func (l *Lock) answered(c *call, operation string, ttl time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.termsLocked()
	t.pending = 0
	t.changes++
	if c.undone() && l.state == held && l.deadline.precedes(t.before) {
		l.deadline, l.counted = t.before, t.counted
		if l.watch != nil {
			l.watch.planLocked(now())
		}
	}
	if lands := c.lands(); lands != (moment{}) {
		t.expects(lands, ttl)
		if operation == "downgrade" {
			t.weakens = lands
		}
	}
}

// certainLocked returns how much of a ttl that was confirmed is certain: a request that was not
// answered, or not yet, may be executed later than the one that was.
func (l *Lock) certainLocked(ttl time.Duration) time.Duration {
	if l.terms == nil {
		return ttl
	}
	if l.terms.pending > 0 {
		ttl = min(ttl, l.terms.pending)
	}
	if now().precedes(l.terms.strays.latest(l.terms.lasts)) {
		ttl = min(ttl, l.terms.ttl)
	}
	return ttl
}

// changesLocked counts the changes of the lease.
func (l *Lock) changesLocked() int {
	if l.terms == nil {
		return 0
	}
	return l.terms.changes
}
