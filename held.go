package redislock

import (
	"context"
	"time"
)

// Held is a lock that is held, whatever has obtained it: a [*Lock], or the lock of package quorum, multi
// or reentrant.
type Held interface {
	// Keys returns the keys of the lock: the write keys, then the read keys.
	Keys() []string
	// Deadline returns the end of the time for which the lock is certain.
	Deadline() time.Time
	// Context returns a context that ends when the lock is lost, with a cause that is an
	// [ErrLockLost], or released.
	Context(ctx context.Context) context.Context
	// Lost returns a channel that is closed when the lock is lost.
	Lost() <-chan struct{}
	// TTL asks for the least remaining lease of any key.
	TTL(ctx context.Context) (time.Duration, error)
	// Refresh makes the lease last for at least ttl from now. A lock that is one owner's alone makes
	// it end just then, even if it would have ended later. A hold of package reentrant never makes a
	// lease shorter, because others may hold the same keys.
	Refresh(ctx context.Context, ttl time.Duration) error
	// Release frees the keys, or what of them is this hold's.
	Release(ctx context.Context) error
}

// HeldFenced is a lock with a fencing number. The lock of package multi is none, because each of its
// parts has a number of its own.
type HeldFenced interface {
	Held
	// Fence returns the fencing number; 0 if the lock was obtained without [Options].Fenced.
	Fence() int64
}

// An Obtainer obtains locks: a Client of this package or of package quorum, as [ObtainerOf] makes one of
// either. It is for code that does not care which of them it is given.
type Obtainer interface {
	// Obtain takes the write locks of all keys, or of none.
	Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (Held, error)
	// ObtainRead takes the read locks of all keys, or of none.
	ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (Held, error)
	// ObtainMixed takes write locks and read locks as one set.
	ObtainMixed(ctx context.Context, write, read []string, ttl time.Duration, opt *Options) (Held, error)
	// With obtains the keys, runs fn, and releases the keys. [HeldFromContext] gives fn the lock.
	With(ctx context.Context, keys []string, ttl time.Duration, opt *Options, fn func(context.Context) error) error
}

// obtains is what both kinds of Client have, each with its own kind of lock.
type obtains[L Held] interface {
	Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (L, error)
	ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (L, error)
	ObtainMixed(ctx context.Context, write, read []string, ttl time.Duration, opt *Options) (L, error)
	With(ctx context.Context, keys []string, ttl time.Duration, opt *Options, fn func(context.Context) error) error
}

// ObtainerOf makes an [Obtainer] of a Client of this package or of package quorum.
//
//	var locks redislock.Obtainer = redislock.ObtainerOf(client)
func ObtainerOf[L Held](client obtains[L]) Obtainer { return obtainer[L]{client} }

type obtainer[L Held] struct{ client obtains[L] }

func (o obtainer[L]) Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (Held, error) {
	return heldOr(o.client.Obtain(ctx, keys, ttl, opt))
}

func (o obtainer[L]) ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (Held, error) {
	return heldOr(o.client.ObtainRead(ctx, keys, ttl, opt))
}

func (o obtainer[L]) ObtainMixed(ctx context.Context, write, read []string, ttl time.Duration, opt *Options) (Held, error) {
	return heldOr(o.client.ObtainMixed(ctx, write, read, ttl, opt))
}

func (o obtainer[L]) With(ctx context.Context, keys []string, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	return o.client.With(ctx, keys, ttl, opt, fn)
}

// heldOr makes nothing of a lock that is nil, which an interface would hide.
func heldOr[L Held](lock L, err error) (Held, error) {
	if err != nil {
		return nil, err
	}
	return lock, nil
}
