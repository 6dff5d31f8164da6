// Package held is for code that does not care what its locks are made of. A lock of package redislock,
// quorum, multi or reentrant is a [Lock]. [Of] makes an [Obtainer] of a Client or an Owner of package
// redislock or quorum.
//
//	var locks held.Obtainer = held.Of(client)
package held

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/inctx"
)

// A Lock is a lock that is held, whatever has obtained it.
type Lock interface {
	// Keys returns the keys of the lock: the write keys, then the read keys.
	Keys() []string
	// Deadline returns the end of the time for which the lock is certain.
	Deadline() time.Time
	// Context returns a context that ends when the lock is lost, with a cause that is an
	// [redislock.ErrLockLost], or released.
	Context(ctx context.Context) context.Context
	// Lost returns a channel that is closed when the lock is lost.
	Lost() <-chan struct{}
	// TTL asks for the least remaining lease of any key.
	TTL(ctx context.Context) (time.Duration, error)
	// Refresh makes the lease last for at least ttl from now. The lease ends just then, even if it
	// would have ended later. Only a hold of package reentrant never makes a lease shorter, because
	// others may hold the same keys.
	Refresh(ctx context.Context, ttl time.Duration) error
	// Release frees the keys. A hold of package reentrant frees a key only if it is the last hold of it.
	Release(ctx context.Context) error
}

// A Fenced is a lock with a fencing number. A lock of package multi is not, because each of its
// parts has a number of its own.
type Fenced interface {
	Lock
	// Fence returns the fencing number; 0 if the lock was obtained without Fenced.
	Fence() int64
}

// FromContext returns the lock under which a function runs, of whichever package: the lock of the
// innermost With, or of the innermost Context of a lock. It returns nil if there is none. A lock with a
// fencing number is a [Fenced].
func FromContext(ctx context.Context) Lock {
	l, _ := inctx.Innermost(ctx).(Lock)
	return l
}

// An Obtainer obtains locks. [Of] makes one.
type Obtainer interface {
	// Obtain takes the write locks of all keys, or none.
	Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (Lock, error)
	// ObtainRead takes the read locks of all keys, or none.
	ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (Lock, error)
	// ObtainSet takes the write locks and the read locks of a set, or none.
	ObtainSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options) (Lock, error)
	// With obtains the write locks of the keys, runs fn, and releases the keys. [FromContext] gives fn
	// the lock.
	With(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error
	// WithSet does the same with the write locks and the read locks of a set.
	WithSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error
}

// obtains are the methods of Clients and Owners, each with its own kind of lock.
type obtains[L Lock] interface {
	ObtainSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options) (L, error)
	WithSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error
}

// Of makes an [Obtainer] of a Client or an Owner of package redislock or quorum.
func Of[L Lock](client obtains[L]) Obtainer { return obtainer[L]{client} }

type obtainer[L Lock] struct{ client obtains[L] }

func (o obtainer[L]) Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (Lock, error) {
	return o.ObtainSet(ctx, redislock.Set{Write: keys}, ttl, opt)
}

func (o obtainer[L]) ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (Lock, error) {
	return o.ObtainSet(ctx, redislock.Set{Read: keys}, ttl, opt)
}

func (o obtainer[L]) ObtainSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options) (Lock, error) {
	lock, err := o.client.ObtainSet(ctx, set, ttl, opt)
	if err != nil {
		return nil, err // and not an interface that holds a nil
	}
	return lock, nil
}

func (o obtainer[L]) With(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	return o.client.WithSet(ctx, redislock.Set{Write: keys}, ttl, opt, fn)
}

func (o obtainer[L]) WithSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	return o.client.WithSet(ctx, set, ttl, opt, fn)
}
