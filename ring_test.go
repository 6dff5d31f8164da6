package redislock_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/slot"
)

// A Ring knows no slots: two hash tags of one slot may be on two shards, and then a set of both would
// be locked at that of the first key alone.
func TestRingTagsOfOneSlot(t *testing.T) {
	t.Parallel()
	ring, nodes := newRing(t)
	shard := func(key string) *redis.Client {
		t.Helper()
		return must[*redis.Client](t)(ring.GetShardClientForKey(key))
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
	client := newClient(t, ring)
	lock := must[*redislock.Lock](t)(client.Obtain(t.Context(), set[1:], long, nil))
	refusedUnsent(t, ring, redislock.ErrCrossSlot, func() error {
		_, err := client.Obtain(t.Context(), set, long, nil)
		return err
	})
	noError(t, lock.Release(t.Context()))
	for _, node := range nodes {
		wantNothing(t, node, t.Name())
	}
}
