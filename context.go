package redislock

import (
	"context"

	"github.com/seed-14de3678/redislock/internal/inctx"
)

// FromContext returns the lock under which a function runs: that of the innermost [Client.With] or
// [Lock.Context] from which ctx is derived. It returns nil if there is none. A nil Lock can be asked:
// it has no keys and no fencing number. A lock that was released or lost meanwhile is returned as well.
//
// The locks of packages quorum, multi and reentrant are found by the FromContext of these packages, and
// by [HeldFromContext].
func FromContext(ctx context.Context) *Lock {
	l, _ := ctx.Value(inctx.Root{}).(*Lock)
	return l
}

// HeldFromContext returns the lock under which a function runs, whichever package it is of: that of the
// innermost With, or Context of a lock. It returns nil if there is none. It is for code that is given an
// [Obtainer]; a lock with a fencing number is a [HeldFenced].
func HeldFromContext(ctx context.Context) Held {
	h, _ := inctx.Innermost(ctx).(Held)
	if l, is := h.(*Lock); is && l == nil {
		return nil // the context of a nil Lock
	}
	return h
}
