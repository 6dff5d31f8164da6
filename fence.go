package redislock

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-14de3678/redislock/internal/proto"
)

// Fence returns the fencing number of the lock. It is greater than every number that was given before for
// any of its keys, and 0 without [Options].Fenced. Pass it to what the lock protects, so that a holder with a
// smaller number can be refused there: package fencing does that. [Lock.Upgrade] gives a new number.
func (l *Lock) Fence() int64 {
	if l.isNothing() {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.numbers.First
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
	if err = l.endedLocked(); set.fences == nil {
		err = errors.New("the lock was obtained without Fenced")
	}
	l.mu.Unlock()
	if err != nil {
		return false, about("raise fence", set, err)
	}
	owner := l.ownerNow()
	defer owner.Done(l.token())
	r := new(call)
	proto.Raise{Set: set.names(), Value: &l.value, TTL: ttl, Number: number}.Fill(&r.run)
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
