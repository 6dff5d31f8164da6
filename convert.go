package redislock

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/internal/clock"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/wire"
)

//go:embed convert.lua
var convertLua string

var convertScript = newScript("convert", convertLua)

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
	op, fenced := &leasing{name: name, ttl: l.ttl}, l.set.fences != nil
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
		return convertCall(ctx, set, &l.value, op.ttl, writes, op.keeps)
	}
	op.read = func(c *call) (verdict, error) { return convertReply(c, fenced) }
	op.apply = func(v verdict) {
		l.set = l.set.as(writeKeys(l.set, writes))
		l.number = max(l.number, v.number)
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

// convertCall builds a conversion, with a lease of ttl. One that keeps shortens no lease. If others of the token
// have obtained some of the keys meanwhile, an upgrade leaves their leases alone, and a downgrade is not sent.
func convertCall(ctx context.Context, set keySet, value *string, ttl time.Duration, writes, keeps bool) *call {
	c := newCall(ctx, convertScript, set.keys, set.beside(), value, clock.Millis(ttl),
		writeKeys(set, writes), flag(set.fences != nil), flag(keeps))
	c.own.Effect, c.own.Home = owners.Lessens, set.lines[0]
	c.reads = true // before or after
	c.yield = func() { c.withdrawn = true }
	if writes {
		c.yield = func() { c.Args[2] = flag(true) }
	}
	return c
}

// convertReply reads the reply to a conversion: that of a fenced set brings its number.
func convertReply(c *call, fenced bool) (v verdict, err error) {
	code, rest, err := c.code(fenced)
	d := wire.Reply{Rest: rest}
	switch {
	case err == nil && code == done && fenced:
		v.code, v.number = code, d.Number()
	case err == nil && code == refused:
		v.code = code
		v.conflict, err = decodeConflict(c.Keys, &d)
	default:
		return c.verdict()
	}
	if err == nil && (d.Bad || len(d.Rest) > 0) {
		err = c.garbled()
	}
	return v, err
}
