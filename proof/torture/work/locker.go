package work

import (
	"context"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/quorum"
	"github.com/seed-14de3678/redislock/reentrant"
)

// A locker obtains locks of one package.
type locker interface {
	obtain(ctx context.Context, r *request) (held.Lock, error)
	// with runs fn while the lock is held. Only write keys can be asked for, but of package multi.
	with(ctx context.Context, r *request, fn func(context.Context) error) error
	// whole reports whether its locks have parts, at other places or servers, which have events of their own.
	whole() bool
}

// plain is package redislock.
func plain(client *redislock.Client) locker { return obtainer{held.Of(client), false} }

// majority is package quorum.
func majority(client *quorum.Client) locker { return obtainer{held.Of(client), true} }

// An obtainer is a package whose Client can be an Obtainer.
type obtainer struct {
	client held.Obtainer
	parts  bool // as whole reports
}

func (o obtainer) obtain(ctx context.Context, r *request) (held.Lock, error) {
	switch {
	case len(r.read) == 0:
		return o.client.Obtain(ctx, r.write, r.ttl, &r.opt)
	case len(r.write) == 0:
		return o.client.ObtainRead(ctx, r.read, r.ttl, &r.opt)
	default:
		return o.client.ObtainSet(ctx, redislock.Set{Write: r.write, Read: r.read}, r.ttl, &r.opt)
	}
}

func (o obtainer) with(ctx context.Context, r *request, fn func(context.Context) error) error {
	return o.client.With(ctx, r.write, r.ttl, &r.opt, fn)
}

func (o obtainer) whole() bool { return o.parts }

// several is package multi.
type several struct {
	client multi.Client
	parts  func(write, read []string) []multi.Part
}

func (m several) obtain(ctx context.Context, r *request) (held.Lock, error) {
	return held(m.client.Obtain(ctx, m.parts(r.write, r.read), r.ttl, &r.opt))
}

func (m several) with(ctx context.Context, r *request, fn func(context.Context) error) error {
	return m.client.With(ctx, m.parts(r.write, r.read), r.ttl, &r.opt, fn)
}

func (several) whole() bool { return true }

// again is package reentrant, for the owner of the context.
type again struct{ client *redislock.Client }

func (a again) obtain(ctx context.Context, r *request) (held.Lock, error) {
	switch {
	case len(r.read) == 0:
		return held(reentrant.Obtain(ctx, a.client, r.write, r.ttl, &r.opt))
	case len(r.write) == 0:
		return held(reentrant.ObtainRead(ctx, a.client, r.read, r.ttl, &r.opt))
	default:
		return held(reentrant.ObtainSet(ctx, a.client, redislock.Set{Write: r.write, Read: r.read}, r.ttl, &r.opt))
	}
}

func (a again) with(ctx context.Context, r *request, fn func(context.Context) error) error {
	return reentrant.With(ctx, a.client, r.write, r.ttl, &r.opt, fn)
}

func (again) whole() bool { return false }

// held is a lock as a Held, which is nil after an error.
func held[L held.Lock](lock L, err error) (held.Lock, error) {
	if err != nil {
		return nil, err
	}
	return lock, nil
}
