package topology_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/slot"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A Ring knows no slots: two hash tags of one slot may be on two shards, and then a set of both would
// be locked at that of the first key alone.
func TestRingTagsOfOneSlot(t *testing.T) {
	t.Parallel()
	ring, nodes := world.NewRing(t)
	shard := func(key string) *redis.Client {
		t.Helper()
		return check.Must[*redis.Client](t)(ring.GetShardClientForKey(key))
	}
	first := make(map[uint16]string)
	var set []string
	for i := 0; set == nil; i++ {
		key := fmt.Sprintf("{%s:%d}", t.Name(), i)
		other, ok := first[slot.Of(key)]
		switch {
		case !ok:
			first[slot.Of(key)] = key
		case shard(other) != shard(key):
			set = []string{other, key}
		}
	}
	client := world.NewClient(t, ring)
	lock := check.Must[*redislock.Lock](t)(client.Obtain(t.Context(), set[1:], world.Long, nil))
	world.WantUnsent(t, ring, redislock.ErrCrossSlot, func() error {
		_, err := client.Obtain(t.Context(), set, world.Long, nil)
		return err
	})
	check.NoError(t, lock.Release(t.Context()))
	for _, node := range nodes {
		world.WantNothing(t, node, t.Name())
	}
}
