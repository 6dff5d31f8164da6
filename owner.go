package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-14de3678/redislock/internal/pace"
)

// An Owner obtains locks under one token of the caller's choice: see [Client.As]. What the token holds
// already counts as free for the Owner, so a set may grow, shrink, or change its metadata or its modes.
// The methods do what those of a [Client] do.
//
// All locks under one token are one owner:
//
//   - If one lock releases a key, the other locks lose it.
//   - An Obtain never shortens a lease: each key lives until the later of the two ends. Its value and
//     metadata are replaced. The Deadline of a Lock counts on the ttl of that Lock alone.
//   - A Refresh to a shorter ttl shortens the lease of all locks. A Downgrade or an ObtainRead turns
//     their keys into read keys. The other locks are not told.
//   - Either all of the locks are [Options].Fenced, or none.
//   - Operations at the same time are done in some order. A request that is sent again, because it was
//     not answered, undoes nothing of an Obtain that has begun meanwhile: a Release does not free the
//     keys that the Obtain counts on, a Refresh shortens no lease, and a Downgrade may have no effect.
//
// No operation waits for a request that was not answered. Once a later request of the token was
// answered, the earlier one has no effect if it is executed within five minutes. All Clients of this
// process know of each other's requests. Another process with the same token does not: late requests
// of this process can change what it holds, and clean-ups of this process can free what it has
// obtained. So give each process a token of its own, or hand a token on only after its first process
// has released.
//
// Two Owners that each hold keys, and stand in line for more, can wait for each other until their
// contexts end.
type Owner struct {
	client *Client
	token  string
}

// As returns the owner of a token that the caller has chosen. [Client.Attach] finds its locks again,
// also from another process. Without As each lock has a random token of its own.
//
// A token has 1 to 512 bytes without '|'. With any other token every Obtain of the Owner is an
// [ErrInvalid], and nothing is sent. A token gives every right to what it holds, so do not log it.
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
	if err := checkToken(o.token); err != nil {
		return nil, fmt.Errorf("redislock: obtain: %w", &pace.NotAskedError{Err: err})
	}
	return o.client.obtain(ctx, o.token, set, ttl, opt)
}

// With does what [Client.With] does.
func (o Owner) With(ctx context.Context, keys []string, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	return with(ctx, o, Set{Write: keys}, ttl, opt, fn)
}

// WithSet does what [Client.WithSet] does.
func (o Owner) WithSet(ctx context.Context, set Set, ttl time.Duration, opt *Options, fn func(context.Context) error) error {
	return with(ctx, o, set, ttl, opt, fn)
}
