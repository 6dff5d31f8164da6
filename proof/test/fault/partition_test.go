package fault_test

import (
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A primary and some of its clients are cut off from its replica, which takes its place for all others. If nobody waits for
// the replica both sides go on granting the same keys. A Client that does, on the side without it, obtains nothing, renews
// nothing, and is told so.
func TestPartition(t *testing.T) {
	t.Parallel()
	redistest.EachServer(t, func(t *testing.T, kind redistest.Kind) {
		ctx := t.Context()
		primary := redistest.Start(t, kind)
		wire := newPipe(t, primary.Addr(), 0)
		host, port, _ := net.SplitHostPort(wire.listener.Addr().String())
		replica := redistest.Start(t, kind, "--replicaof", host, port).Client(t)
		check.Eventually(t, time.Minute, "the replica is linked", func() bool {
			role := check.Must[[]any](t)(replica.Do(ctx, "role").Slice())
			return len(role) > 3 && role[3] == "connected"
		})
		few, many := world.New(t, primary), world.NewClient(t, replica)
		safe := world.NewClient(t, few.RDB, redislock.WithReplicas(1))
		before := check.Must[*redislock.Lock](t)(few.Client.Obtain(ctx, few.Keys("before"), world.Long, nil))
		watched := world.LockKinds[0].Hold(t, safe, few.Key("watched"), 6*time.Second, true)
		world.CaughtUp(t, few.RDB, 1)

		wire.close()
		check.NoError(t, replica.Do(ctx, "replicaof", "no", "one").Err())
		_, err := many.Obtain(ctx, few.Keys("before"), world.Long, nil)
		check.Is(t, err, redislock.ErrNotObtained) // the replica knows of it
		check.NoError(t, before.Refresh(ctx, world.Long))
		one := check.Must[*redislock.Lock](t)(few.Client.Obtain(ctx, few.Keys("a"), world.Long, nil))
		other := check.Must[*redislock.Lock](t)(many.Obtain(ctx, few.Keys("a"), world.Long, nil))
		if now := time.Now(); !now.Before(one.Deadline()) || !now.Before(other.Deadline()) {
			t.Error("there are no two holders: the README says too much")
		}
		_, err = safe.Obtain(ctx, few.Keys("b"), world.Long, nil)
		check.Is(t, err, redislock.ErrNotReplicated)
		check.NoError(t, check.Must[*redislock.Lock](t)(many.Obtain(ctx, few.Keys("b"), world.Long, nil)).Release(ctx))
		watched.WantLost(t)
		check.NoError(t, obtainAfter(t, replica, watched.Keys[0]))
	})
}

// obtainAfter obtains a key at a server when the lease that it has there is over.
func obtainAfter(t *testing.T, rdb *redis.Client, key string) error {
	t.Helper()
	lock, err := world.NewClient(t, rdb).Obtain(t.Context(), []string{key}, world.Long, &redislock.Options{
		RetryStrategy: redislock.LinearBackoff(20 * time.Millisecond),
	})
	if err == nil {
		err = lock.Release(t.Context())
	}
	return err
}
