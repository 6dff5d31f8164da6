package redislock

import (
	"context"

	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/pace"
	"github.com/seed-14de3678/redislock/internal/wire"
)

// FromContext returns the lock under which a function runs; nil if there is none. It is the lock of the innermost
// [Client.With] or [Lock.Context] from which ctx is derived. A nil Lock can be asked, and has no keys and no number.
// Locks of the other packages are found by their FromContext, and by package held.
func FromContext(ctx context.Context) *Lock {
	l, _ := ctx.Value(inctx.Root{}).(*Lock)
	return l
}

// inOwnWay returns a conflict. The conflict ends the Obtain if that would wait for a lock under which it runs: its own
// context ends with that lock. That is certain if no other caller can know the token of either, and if the Obtain is no
// step of a larger one, which may go on without these keys.
func (o *obtaining) inOwnWay(conflict *ConflictError) error {
	if o.asked.count > 1 || o.want.tokenKnown || o.caller.Done() == nil || pace.IsStep(o.caller) || wire.IsStaying(o.caller) {
		return conflict
	}
	for l := range inctx.Each(o.caller) {
		if l, is := l.(*Lock); is && l.keepsFrom(o) {
			conflict.Own = true
			return &endedError{conflict}
		}
	}
	return conflict
}

// keepsFrom reports whether the lock is held, and it alone keeps an Obtain of the same Client from one of its keys.
func (l *Lock) keepsFrom(o *obtaining) bool {
	if l.isNothing() || l.client != o.client {
		return false
	}
	l.mu.Lock()
	mine, certain := l.set, l.state == held && !l.tokenKnown
	l.mu.Unlock()
	if !certain {
		return false
	}
	writes := make(map[string]bool, len(mine.keys)) // by its keys
	for i, key := range mine.keys {
		writes[key] = i < mine.write
	}
	for i, key := range o.want.set.keys {
		if write, is := writes[key]; is && (write || i < o.want.set.write) {
			return true
		}
	}
	return false
}
