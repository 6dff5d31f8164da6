package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/internal/pace"
)

// An Owner obtains locks under one token of the caller's choice: see [Client.As]. Its methods do what the methods of a
// [Client] do. Keys that the token holds already count as free, so a set may grow, shrink, or change its metadata or
// its modes. All locks under one token are one owner: if one of them releases a key, the others lose it. Give each
// process a token of its own. docs/clients.md has the rest.
type Owner struct {
	client *Client
	token  string
}

// As returns the owner of a token of the caller's choice, which has 1 to 512 bytes without '|'. With any other token
// every Obtain of the Owner is an [ErrInvalid]. [Client.Attach] finds its locks again, in any process. A token gives
// every right to what it holds, so do not log it. Each server needs its own: see docs/clients.md. Without As each lock
// has a random token.
func (c *Client) As(token string) Owner { return Owner{c, token} }

// Obtain does what [Client.Obtain] does.
func (o Owner) Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return o.ObtainSet(ctx, Set{Write: keys}, ttl, opt)
}

// ObtainRead does what [Client.ObtainRead] does.
func (o Owner) ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *Options) (*Lock, error) {
	return o.ObtainSet(ctx, Set{Read: keys}, ttl, opt)
}

// ObtainSet does what [Client.ObtainSet] does.
func (o Owner) ObtainSet(ctx context.Context, set Set, ttl time.Duration, opt *Options) (*Lock, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return o.client.obtain(ctx, o.token, set, ttl, opt)
}

// With does what [Client.With] does.
func (o Owner) With(ctx context.Context, keys []string, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	return o.WithSet(ctx, Set{Write: keys}, ttl, opt, fn)
}

// WithSet does what [Client.WithSet] does.
func (o Owner) WithSet(ctx context.Context, set Set, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	if err := o.check(); err != nil {
		return err
	}
	return o.client.with(ctx, o.token, set, ttl, opt, fn)
}

// check refuses a token that no lock can have. An empty one is such a token: it would mean a random token for each lock.
func (o Owner) check() error {
	if err := checkToken(o.token); err != nil {
		return fmt.Errorf("redislock: obtain: %w", &pace.NotAskedError{Err: err})
	}
	return nil
}
