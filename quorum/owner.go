package quorum

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock"
)

// An Owner obtains locks under one token of the caller's choice at every node: see [Client.As] and
// [redislock.Owner]. An Obtain that fails releases what it was granted, even keys that the token held
// before. A later Obtain of the same Client asks each node only when no request for the token is under
// way there. Other Clients should not use the token before the lease is over.
type Owner struct {
	client *Client
	token  string
}

// As returns the owner of a token that the caller has chosen. [Client.Attach] finds its locks again.
// [redislock.Client.As] says what a token may be.
func (c *Client) As(token string) Owner { return Owner{c, token} }

// Obtain does what [Client.Obtain] does.
func (o Owner) Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (*Lock, error) {
	return o.ObtainSet(ctx, redislock.Set{Write: keys}, ttl, opt)
}

// ObtainRead does what [Client.ObtainRead] does.
func (o Owner) ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (*Lock, error) {
	return o.ObtainSet(ctx, redislock.Set{Read: keys}, ttl, opt)
}

// ObtainSet does what [Client.ObtainSet] does.
func (o Owner) ObtainSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options) (*Lock, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return o.client.obtain(ctx, o.token, set, ttl, opt)
}

// With does what [Client.With] does.
func (o Owner) With(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	return o.WithSet(ctx, redislock.Set{Write: keys}, ttl, opt, fn)
}

// WithSet does what [Client.WithSet] does.
func (o Owner) WithSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	if err := o.check(); err != nil {
		return err
	}
	return o.client.with(ctx, o.token, set, ttl, opt, fn)
}

// check refuses an empty token: it would mean a random token for each node. The nodes refuse all other invalid tokens.
func (o Owner) check() error {
	if o.token == "" {
		return fmt.Errorf("quorum: obtain: %w", invalid("token", "it is empty"))
	}
	return nil
}
