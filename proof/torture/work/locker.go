package work

import (
	"context"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/quorum"
	"github.com/seed-14de3678/redislock/reentrant"
)

// A locker obtains locks of one package.
type locker interface {
	obtain(ctx context.Context, r *request) (held.Lock, error)
	// with runs fn while the lock is held.
	with(ctx context.Context, r *request, fn func(context.Context) error) error
	// whole reports whether its locks have parts, at other places or servers, which have events of their own.
	whole() bool
}

// obtains is what Clients and Owners of packages redislock and quorum have, and an Obtainer.
type obtains[L held.Lock] interface {
	Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (L, error)
	ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (L, error)
	ObtainSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options) (L, error)
	With(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error
	WithSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error
}

// A maker of locks is a package whose Clients have these methods.
type maker[L held.Lock] struct {
	obtains[L]
	as    func(token string) obtains[L] // its Owner
	parts bool                          // as whole reports
}

// plain is package redislock, in some processes by way of package held.
func plain(c *caller) locker {
	root := c.clients[0]
	if c.Process%3 == 0 {
		return maker[held.Lock]{held.Of(root), func(token string) obtains[held.Lock] { return held.Of(root.As(token)) }, false}
	}
	return maker[*redislock.Lock]{root, func(token string) obtains[*redislock.Lock] { return root.As(token) }, false}
}

// majority is package quorum, in some processes by way of package held.
func majority(c *caller) locker {
	if c.Process%3 == 0 {
		return maker[held.Lock]{held.Of(c.quorum), func(token string) obtains[held.Lock] { return held.Of(c.quorum.As(token)) }, true}
	}
	return maker[*quorum.Lock]{c.quorum, func(token string) obtains[*quorum.Lock] { return c.quorum.As(token) }, true}
}

// by returns the Client, or the Owner of the token of a request.
func (m maker[L]) by(r *request) obtains[L] {
	if r.token == "" {
		return m.obtains
	}
	return m.as(r.token)
}

func (m maker[L]) obtain(ctx context.Context, r *request) (held.Lock, error) {
	switch {
	case len(r.read) == 0:
		return lockOf(m.by(r).Obtain(ctx, r.write, r.ttl, &r.opt))
	case len(r.write) == 0:
		return lockOf(m.by(r).ObtainRead(ctx, r.read, r.ttl, &r.opt))
	default:
		return lockOf(m.by(r).ObtainSet(ctx, r.set(), r.ttl, &r.opt))
	}
}

func (m maker[L]) with(ctx context.Context, r *request, fn func(context.Context) error) error {
	if len(r.read) == 0 {
		return m.by(r).With(ctx, r.write, r.ttl, &r.opt, fn)
	}
	return m.by(r).WithSet(ctx, r.set(), r.ttl, &r.opt, fn)
}

func (m maker[L]) whole() bool { return m.parts }

// several is package multi.
type several struct {
	client multi.Client
	parts  func(write, read []string) []multi.Part
}

func (m several) obtain(ctx context.Context, r *request) (held.Lock, error) {
	if r.token != "" {
		return lockOf(m.client.As(r.token).Obtain(ctx, m.parts(r.write, r.read), r.ttl, &r.opt))
	}
	return lockOf(m.client.Obtain(ctx, m.parts(r.write, r.read), r.ttl, &r.opt))
}

func (m several) with(ctx context.Context, r *request, fn func(context.Context) error) error {
	if r.token != "" {
		return m.client.As(r.token).With(ctx, m.parts(r.write, r.read), r.ttl, &r.opt, fn)
	}
	return m.client.With(ctx, m.parts(r.write, r.read), r.ttl, &r.opt, fn)
}

func (several) whole() bool { return true }

// again is package reentrant, for the owner of the context.
type again struct{ client *redislock.Client }

func (a again) obtain(ctx context.Context, r *request) (held.Lock, error) {
	switch {
	case len(r.read) == 0:
		return lockOf(reentrant.Obtain(ctx, a.client, r.write, r.ttl, &r.opt))
	case len(r.write) == 0:
		return lockOf(reentrant.ObtainRead(ctx, a.client, r.read, r.ttl, &r.opt))
	default:
		return lockOf(reentrant.ObtainSet(ctx, a.client, r.set(), r.ttl, &r.opt))
	}
}

func (a again) with(ctx context.Context, r *request, fn func(context.Context) error) error {
	if len(r.read) == 0 {
		return reentrant.With(ctx, a.client, r.write, r.ttl, &r.opt, fn)
	}
	return reentrant.WithSet(ctx, a.client, r.set(), r.ttl, &r.opt, fn)
}

func (again) whole() bool { return false }

// lockOf is a lock of any package, which is nil after an error.
func lockOf[L held.Lock](lock L, err error) (held.Lock, error) {
	if err != nil {
		return nil, err
	}
	return lock, nil
}
