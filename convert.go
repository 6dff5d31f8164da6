package redislock

import (
	"context"
	"fmt"

	"github.com/seed-14de3678/redislock/internal/proto"
)

// Downgrade turns the write keys of the set into read keys, in one step: nobody else can write in
// between, and other readers may have the keys from then on. The lease begins anew. Errors are
// those of Refresh. After an [ErrUnknownOutcome] the lock is held in one mode or the other.
func (l *Lock) Downgrade(ctx context.Context) error { return l.convert(ctx, "downgrade", false) }

// Upgrade turns the read keys of the set into write keys, in one step, if nobody else reads any of
// them. If somebody does, the error is an [ErrNotObtained], a [*ConflictError], and everything
// stays as it was: the lock still reads. There is one attempt only, because two readers that both
// insisted would wait for each other for ever. The lease begins anew. Other errors are those of
// Refresh.
func (l *Lock) Upgrade(ctx context.Context) error { return l.convert(ctx, "upgrade", true) }

// convert makes all keys write keys, or read keys. The model in proof/models/modes shows that a writer is alone all the same,
// and that readers who upgrade do not wait for each other.
func (l *Lock) convert(ctx context.Context, name string, writes bool) error {
	if err := l.usable(); err != nil {
		return fmt.Errorf("redislock: %s: %w", name, err)
	}
	l.mu.Lock()
	op := &leasing{name: name, ttl: l.ttl}
	l.mu.Unlock()
	if op.ttl == 0 {
		return fmt.Errorf("redislock: %s %s: %w: an attached lock has none before a Refresh",
			name, l.snapshot(), ErrInvalidTTL)
	}
	if set := l.snapshot(); !writes {
		if err := l.client.checkReads(set); err != nil {
			return fmt.Errorf("redislock: %s %s: %w", name, set, err)
		}
	}
	op.call = func(set keySet) *call {
		c := new(call)
		q := proto.Convert{Set: set.as(writeKeys(set, writes)).names(), Value: &l.value, TTL: op.ttl, Keeps: op.keeps}
		q.Fill(&c.run)
		return c.begins(ctx)
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
