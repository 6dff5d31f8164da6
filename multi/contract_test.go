package multi_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/held"
	"github.com/seed-14de3678/redislock/internal/contract"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/multi"
)

// What every lock promises, a lock of several parts does: each key of the contract is a part of its own.
func TestContract(t *testing.T) {
	t.Parallel()
	contract.Run(t, contract.Maker{
		Kind: contract.KindOf(multi.FromContext),
		New: func(t *testing.T, server func() redistest.Backend, hooks redislock.Hooks) contract.Rig {
			t.Helper()
			w := newWorld(t, server())
			locks := apart{w: w, client: multi.Client{Hooks: hooks}}
			return contract.Rig{Locks: locks, Servers: []*redis.Client{w.rdb}, Clients: []any{locks.client}}
		},
	})
}

// apart locks keys in parts: the last letter of a key says at which of three places it is.
type apart struct {
	w      *world
	client multi.Client
}

func (a apart) parts(set redislock.Set) []multi.Part {
	parts := []multi.Part{a.w.part(0), a.w.part(1), a.w.part(2)}
	of := func(key string) *multi.Part { return &parts[key[len(key)-1]-'a'] }
	for _, key := range set.Write {
		of(key).Write = append(of(key).Write, key)
	}
	for _, key := range set.Read {
		of(key).Read = append(of(key).Read, key)
	}
	var some []multi.Part
	for _, p := range parts {
		if len(p.Write)+len(p.Read) > 0 {
			some = append([]multi.Part{p}, some...) // not in the order in which they are taken
		}
	}
	return some
}

func (a apart) ObtainSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options) (held.Lock, error) {
	lock, err := a.client.Obtain(ctx, a.parts(set), ttl, opt)
	if err != nil {
		return nil, err
	}
	return lock, nil
}

func (a apart) WithSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error {
	return a.client.With(ctx, a.parts(set), ttl, opt, fn)
}
