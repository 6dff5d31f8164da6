// Package inctx has contexts say under which lock a function runs.
package inctx

import (
	"context"
	"iter"
)

// Root is the key of the lock of the root package. Every package with locks has a key of its own.
type Root struct{}

// innermost is the key of the innermost lock of any package.
type innermost struct{}

// candidate is the key under which a context says that the caller of Obtain is a candidate.
type candidate struct{}

// Pending stands behind the stored value of a candidate when its Obtain may still fail although its keys are held. The
// first renewal of the lock takes it away: see refresh.lua. Readers of the value find it behind the caller's id.
const Pending = "?"

// Candidate returns a context under which a lock with a watchdog is [Pending] until its Obtain has returned it; or
// under which it is not, whatever ctx says.
func Candidate(ctx context.Context, is bool) context.Context {
	return context.WithValue(ctx, candidate{}, is)
}

// IsCandidate reports whether a context is of a candidate.
func IsCandidate(ctx context.Context) bool {
	is, _ := ctx.Value(candidate{}).(bool)
	return is
}

// A within is a context that has a lock, or hides the locks that its inner context has got, or both.
type within struct {
	context.Context
	key   any             // of the lock; nil if it has none
	lock  any             // under that key, and as the innermost lock of all
	outer context.Context // has the other locks; nil if the context itself has

	isNobodys bool // no Obtain has returned the lock, so it is not the innermost one
}

// With returns a context that has a lock under the key of its package.
func With(ctx context.Context, key, lock any) context.Context {
	return &within{Context: ctx, key: key, lock: lock}
}

// As returns a context that ends with inner, and has the locks that outer has. If a lock of another package is made of
// locks of the root package, nobody finds these.
func As(outer, inner context.Context) context.Context {
	return &within{Context: inner, outer: outer}
}

// Over is With for a lock that is made of locks of the root package; inner comes from their contexts.
func Over(outer, inner context.Context, key, lock any) context.Context {
	return &within{Context: inner, key: key, lock: lock, outer: outer}
}

// Nobodys returns the context of a lock that no Obtain has returned: it has ended with this cause. It has that lock
// under the key of its package, and no innermost lock, whatever ctx has.
func Nobodys(ctx context.Context, key, lock any, cause error) context.Context {
	return Ended(&within{Context: ctx, key: key, lock: lock, isNobodys: true}, cause)
}

// Ended returns a context that has ended with this cause.
func Ended(ctx context.Context, cause error) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(cause)
	return ctx
}

// Innermost returns the lock that was put last into a context; nil if there is none.
func Innermost(ctx context.Context) any { return ctx.Value(innermost{}) }

// nearest is the key of the nearest context that has a lock of the root package.
type nearest struct{}

// Each yields the locks of the root package that a context has, the innermost first.
func Each(ctx context.Context) iter.Seq[any] {
	return func(yield func(any) bool) {
		w, ok := ctx.Value(nearest{}).(*within)
		for ok && yield(w.lock) {
			w, ok = w.Context.Value(nearest{}).(*within)
		}
	}
}

// Value returns what the context has under a key.
func (w *within) Value(key any) any {
	switch {
	case w.isNobodys && key == innermost{}:
		return nil
	case w.key != nil && (key == w.key || key == innermost{}):
		return w.lock
	}
	if w.key == (Root{}) && key == (nearest{}) {
		return w
	}
	switch key.(type) {
	case Root, innermost, nearest:
		if w.outer != nil {
			return w.outer.Value(key)
		}
	}
	return w.Context.Value(key)
}

// caller is the key of the id of WithCaller.
type caller struct{}

// WithCaller returns a context with the id of a caller.
func WithCaller(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, caller{}, id)
}

// Caller returns the caller's id of a context; it is empty without one.
func Caller(ctx context.Context) string {
	id, _ := LookupCaller(ctx)
	return id
}

// LookupCaller returns that id, and whether there is one.
func LookupCaller(ctx context.Context) (id string, has bool) {
	id, has = ctx.Value(caller{}).(string)
	return id, has
}
