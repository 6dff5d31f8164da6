package fault_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A Ring that loses a shard moves its keys to another one, which knows no locks: two hold the key. The first learns of it
// when it asks the next time, and does no harm to the second.
func TestRingLosesShard(t *testing.T) {
	t.Parallel()
	one, two := redistest.Start(t, redistest.Redis), redistest.Start(t, redistest.Redis)
	ring := redis.NewRing(&redis.RingOptions{
		Addrs:              map[string]string{"one": one.Addr(), "two": two.Addr()},
		HeartbeatFrequency: 100 * time.Millisecond,
	})
	t.Cleanup(func() { _ = ring.Close() })
	client := world.NewClient(t, ring)
	ctx, keys := t.Context(), []string{"{k}a", "{k}b"}
	first := check.Must[*redislock.Lock](t)(client.Obtain(ctx, keys, world.Long, nil))
	shard := check.Must[*redis.Client](t)(ring.GetShardClientForKey(keys[0])).Options().Addr
	if shard == one.Addr() {
		one.Kill()
	} else {
		two.Kill()
	}
	var second *redislock.Lock
	check.Eventually(t, time.Minute, "the keys have moved", func() bool {
		var err error
		second, err = client.Obtain(ctx, keys, world.Long, nil)
		return err == nil
	})
	if !time.Now().Before(first.Deadline()) {
		t.Error("there are no two holders: the README says too much")
	}
	check.Is(t, first.Refresh(ctx, world.Long), redislock.ErrLockNotHeld)
	check.Is(t, first.Release(ctx), redislock.ErrLockNotHeld)
	check.NoError(t, second.Release(ctx))
}
