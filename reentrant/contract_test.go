package reentrant_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/contract"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/reentrant"
)

// What every lock promises, the one hold of an owner does.
func TestContract(t *testing.T) {
	t.Parallel()
	contract.Run(t, contract.Maker{
		Kind:          contract.KindOf(reentrant.FromContext),
		NoLeave:       "other holds of the owner may go on with the keys: HoldAtLeast says how long they stay taken after the last one",
		NeverShortens: "other holds of the owner may need the longer lease",
		Quiet:         "hooks are those of the Client, which tell of root locks: a hold that has ended, or that no root lock was asked for, asks for nothing",
		AlwaysWatched: "an owner that has lost a key is not to obtain it again before every hold has ended, so every loss has to be known",
		RefusedIfLost: "a hold is live when it is returned",
		New: func(t *testing.T, server func() redistest.Backend, hooks redislock.Hooks) contract.Rig {
			t.Helper()
			b := server()
			client := redislock.New(b.Client(t), redislock.WithHooks(hooks))
			t.Cleanup(client.Close)
			return contract.Rig{Locks: owners{t, client}, Servers: []*redis.Client{b.Client(t)}, Clients: []any{client}}
		},
	})
}

// owners obtains each lock for an owner of its own, all of whose holds are to be released.
type owners struct {
	t      *testing.T
	client *redislock.Client
}

func (o owners) newOwner(ctx context.Context) context.Context {
	ctx = reentrant.NewOwner(ctx)
	o.t.Cleanup(func() { reentrant.CheckReleased(o.t, ctx) })
	return ctx
}

func (o owners) ObtainSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options) (held.Lock, error) {
	hold, err := reentrant.ObtainSet(o.newOwner(ctx), o.client, set, ttl, opt)
	if err != nil {
		return nil, err
	}
	return hold, nil
}

func (o owners) WithSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	return reentrant.WithSet(o.newOwner(ctx), o.client, set, ttl, opt, fn)
}
