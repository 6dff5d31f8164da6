package wrapped_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// uses does with a Client all that can be done with one, and returns what came of each.
func uses(ctx context.Context, client *redislock.Client) map[string]error {
	keys := []string{"k"}
	results := make(map[string]error)
	for mode, obtain := range map[string]func() (*redislock.Lock, error){
		"Obtain":     func() (*redislock.Lock, error) { return client.Obtain(ctx, keys, world.Long, nil) },
		"ObtainRead": func() (*redislock.Lock, error) { return client.ObtainRead(ctx, keys, world.Long, nil) },
		"ObtainSet": func() (*redislock.Lock, error) {
			return client.ObtainSet(ctx, redislock.Set{Write: keys}, world.Long, nil)
		},
		"Queue": func() (*redislock.Lock, error) { return client.Obtain(ctx, keys, world.Long, world.Queue()) },
		"Token": func() (*redislock.Lock, error) {
			return client.As("mine").Obtain(ctx, keys, world.Long, &redislock.Options{Watchdog: true, Fenced: true, Intent: true})
		},
	} {
		lock, err := obtain()
		if lock != nil {
			err = nil
		}
		results[mode] = err
	}
	results["With"] = client.With(ctx, keys, world.Long, nil, func(context.Context) error { return nil })
	_, results["Inspect"] = client.Inspect(ctx, []string{"k"})
	_, results["Inspect of nothing"] = client.Inspect(ctx, nil)
	_, results["Break"] = client.Break(ctx, keys, "")
	lock := client.Attach(keys, "token")
	results["Attach.Refresh"] = lock.Refresh(ctx, world.Long)
	results["Attach.Downgrade"] = lock.Downgrade(ctx)
	results["Attach.Upgrade"] = lock.Upgrade(ctx)
	results["Attach.RaiseFence"] = lock.RaiseFence(ctx, 1)
	results["Attach.ReleaseKeys"] = lock.ReleaseKeys(ctx, []string{"k"})
	_, results["Attach.TTL"] = lock.TTL(ctx)
	results["Attach.Release"] = lock.Release(ctx)
	_, _, _, _, _ = lock.Keys(), lock.Token(), lock.Metadata(), lock.Deadline(), lock.Fence()
	_, _ = lock.Context(ctx), lock.Lost()
	return results
}

// A Client with nothing to ask says so, whatever is done with it, and does not panic.
func TestClientWithoutRedis(t *testing.T) {
	t.Parallel()
	rdb := redistest.StartMini(t).Client(t)
	pipe := rdb.Pipeline()
	var (
		client  *redis.Client
		cluster *redis.ClusterClient
		ring    *redis.Ring
		mine    *chaos
	)
	for name, c := range map[string]struct {
		client *redislock.Client
		want   string
	}{
		"nil":         {redislock.New(nil), "New was given no Redis client"},
		"client":      {redislock.New(client), "a *redis.Client that is nil"},
		"cluster":     {redislock.New(cluster), "a *redis.ClusterClient that is nil"},
		"ring":        {redislock.New(ring), "a *redis.Ring that is nil"},
		"interface":   {redislock.New(redis.UniversalClient(ring)), "a *redis.Ring that is nil"},
		"wrapper":     {redislock.New(mine), "a *wrapped_test.chaos that is nil"},
		"wraps nil":   {redislock.New(world.Bare{Scripter: rdb}, redislock.WithWrapped(client)), "WithWrapped was given no Redis client"},
		"wraps mine":  {redislock.New(world.Bare{Scripter: rdb}, redislock.WithWrapped(&chaos{Client: rdb})), "WithWrapped was given a *wrapped_test.chaos"},
		"pipeline":    {redislock.New(pipe), "a *redis.Pipeline, whose answers come at its Exec"},
		"transaction": {redislock.New(rdb.TxPipeline()), "a *redis.Pipeline, whose answers come at its Exec"},
		"zero":        {new(redislock.Client), "was not made by New"},
		"none":        {nil, "the Client is nil"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // also when it is closed
				for use, err := range uses(t.Context(), c.client) {
					if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "redislock: ") {
						t.Errorf("%s: got error %v, want one that says %s", use, err, c.want)
					}
					if want := name == "pipeline" || name == "transaction"; errors.Is(err, errors.ErrUnsupported) != want {
						t.Errorf("%s: got error %v, want one that is not supported: %t", use, err, want)
					}
				}
				c.client.Close()
			}
		})
	}
	_, err := redislock.Obtain(t.Context(), nil, []string{"k"}, world.Long, nil)
	if err == nil || !strings.Contains(err.Error(), "no Redis client") {
		t.Errorf("got error %v, want one that says there is no Redis client", err)
	}
	if n := pipe.Len(); n != 0 {
		t.Errorf("%d commands wait in the pipeline", n)
	}
}

// A connection by itself, and one inside a transaction, can do what any other client can.
func TestClientOfOneConnection(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		rdb := b.Client(t)
		use := func(rdb redis.Scripter) {
			client := redislock.New(rdb)
			defer client.Close()
			var wg sync.WaitGroup
			for g := range 8 {
				wg.Go(func() {
					if err := world.Cycle(t.Context(), client, fmt.Sprintf("%s:%d:", t.Name(), g)); err != nil {
						t.Errorf("%T: %v", rdb, err)
					}
				})
			}
			wg.Wait()
			_, err := client.Obtain(t.Context(), []string{t.Name()}, world.Long, world.Queue())
			check.Is(t, err, errors.ErrUnsupported)
		}
		conn := rdb.Conn()
		defer conn.Close()
		use(conn)
		check.NoError(t, rdb.Watch(t.Context(), func(tx *redis.Tx) error {
			use(tx)
			return nil
		}, t.Name()+":watched"))
	})
}

// A Client that cannot ask the server itself says which of its options needs that.
func TestUnfitToAskTheServer(t *testing.T) {
	t.Parallel()
	rdb := world.Replies(func() any { return int64(1) })
	for name, option := range map[string]redislock.ClientOption{
		"WithMinUptime": redislock.WithMinUptime(world.Long), "WithReplicas": redislock.WithReplicas(1),
	} {
		_, err := redislock.New(rdb, option).Obtain(t.Context(), []string{"k"}, world.Long, nil)
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), ": "+name+" asks") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
