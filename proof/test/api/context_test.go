package api_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
	"github.com/seed-14de3678/redislock/multi"
	"github.com/seed-14de3678/redislock/quorum"
	"github.com/seed-14de3678/redislock/reentrant"
)

// obtainers are the ways in that a Client and an Owner have in common.
type obtainers[L any] interface {
	Obtain(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (L, error)
	ObtainRead(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options) (L, error)
	ObtainSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options) (L, error)
	With(ctx context.Context, keys []string, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error
	WithSet(ctx context.Context, set redislock.Set, ttl time.Duration, opt *redislock.Options, fn func(context.Context) error) error
}

// A wayIn obtains something, and reports how that ended.
type wayIn func(ctx context.Context) error

// waysOf are the ways in of a Client or an Owner.
func waysOf[L any](name string, by obtainers[L], set redislock.Set, fn func(context.Context) error) map[string]wayIn {
	last := func(_ L, err error) error { return err }
	return map[string]wayIn{
		name + ".Obtain":     func(ctx context.Context) error { return last(by.Obtain(ctx, set.Write, world.Long, nil)) },
		name + ".ObtainRead": func(ctx context.Context) error { return last(by.ObtainRead(ctx, set.Read, world.Long, nil)) },
		name + ".ObtainSet":  func(ctx context.Context) error { return last(by.ObtainSet(ctx, set, world.Long, nil)) },
		name + ".With":       func(ctx context.Context) error { return by.With(ctx, set.Write, world.Long, nil, fn) },
		name + ".WithSet":    func(ctx context.Context) error { return by.WithSet(ctx, set, world.Long, nil, fn) },
	}
}

// Whoever calls one of them with a context that has ended is told why it has ended, and nothing is obtained.
func TestWaysInPassTheirContextOn(t *testing.T) {
	t.Parallel()
	w := world.New(t, redistest.Start(t, redistest.Redis))
	set := redislock.Set{Write: []string{w.Key("write")}, Read: []string{w.Key("read")}}
	runs := func(context.Context) error { return errors.New("the function was run") }
	majority, err := quorum.New([]*redislock.Client{w.Client, world.NewClient(t, w.RDB), world.NewClient(t, w.RDB)})
	if err != nil {
		t.Fatal(err)
	}
	parts := []multi.Part{{Client: w.Client, Set: set}}
	all := map[string]wayIn{
		"Obtain": func(ctx context.Context) error {
			_, err := redislock.Obtain(ctx, w.RDB, set.Write, world.Long, nil)
			return err
		},
		"reentrant.Obtain": func(ctx context.Context) error {
			_, err := reentrant.Obtain(ctx, w.Client, set.Write, world.Long, nil)
			return err
		},
		"reentrant.ObtainRead": func(ctx context.Context) error {
			_, err := reentrant.ObtainRead(ctx, w.Client, set.Read, world.Long, nil)
			return err
		},
		"reentrant.ObtainSet": func(ctx context.Context) error {
			_, err := reentrant.ObtainSet(ctx, w.Client, set, world.Long, nil)
			return err
		},
		"reentrant.With": func(ctx context.Context) error {
			return reentrant.With(ctx, w.Client, set.Write, world.Long, nil, runs)
		},
		"reentrant.WithSet": func(ctx context.Context) error { return reentrant.WithSet(ctx, w.Client, set, world.Long, nil, runs) },
		"multi.Obtain": func(ctx context.Context) error {
			_, err := multi.Client{}.Obtain(ctx, parts, world.Long, nil)
			return err
		},
		"multi.With": func(ctx context.Context) error { return multi.Client{}.With(ctx, parts, world.Long, nil, runs) },
		"multi.Owner.Obtain": func(ctx context.Context) error {
			_, err := multi.Client{}.As("t").Obtain(ctx, parts, world.Long, nil)
			return err
		},
		"multi.Owner.With": func(ctx context.Context) error { return multi.Client{}.As("t").With(ctx, parts, world.Long, nil, runs) },
	}
	maps.Copy(all, waysOf("Client", w.Client, set, runs))
	maps.Copy(all, waysOf("Owner", w.Client.As("t"), set, runs))
	maps.Copy(all, waysOf("quorum.Client", majority, set, runs))
	maps.Copy(all, waysOf("quorum.Owner", majority.As("t"), set, runs))
	for name, obtain := range all {
		why := errors.New(name)
		ctx, cancel := context.WithCancelCause(reentrant.NewOwner(t.Context()))
		cancel(why)
		if err := obtain(ctx); !errors.Is(err, why) {
			t.Errorf("%s: got %v, want the cause of the context", name, err)
		}
	}
	w.WantFree(t, set.Write[0], set.Read[0])
}
