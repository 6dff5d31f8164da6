package redislock_test

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
)

// Entries that this version cannot read stand in nobody's way, and no release fails because of them.
func TestQueueStrangeEntries(t *testing.T) {
	const later = "9999999999999" // alive for long
	scenario(t, func(t *testing.T, w *world) {
		for i, strange := range []string{
			"", "|", "something else", "id|" + later, "id|" + later + "|w", "id|" + later + "|w|p--|60000|1|",
			"id|" + later + "|x|p--|60000|1|0|0|value", "id|" + later + "|w|-p-|60000|1|0|0|value",
			"id|" + later + "|r|p-h|60000|many|0|0|value", "id||w|p--|60000|1|0|0|value",
		} {
			for _, set := range [][]string{{"a"}, {"a", "b"}} {
				keys := w.keys(fmt.Sprint(set[0], i, len(set)), fmt.Sprint("b", i))[:len(set)]
				enter := func() {
					t.Helper()
					line := "redislock:line:{" + keys[0] + "}"
					noError(t, w.rdb.ZAdd(t.Context(), line, redis.Z{Score: 1, Member: strange}).Err())
					noError(t, w.rdb.Expire(t.Context(), line, long).Err())
				}
				holder := must[*redislock.Lock](t)(w.client.Obtain(t.Context(), keys, long, nil))
				turns := make(chan turn, 1)
				w.wait(t.Context(), turns, "a", keys, nil)
				w.inLine(t, keys[len(keys)-1], 1)
				enter()
				noError(t, holder.Release(t.Context()))
				got, ok := receive(turns, polled)
				if !ok {
					t.Fatalf("behind %q nobody is served", strange)
				}
				noError(t, got.err)
				enter()
				noError(t, got.lock.Release(t.Context()))
				enter()
				noError(t, must[*redislock.Lock](t)(w.client.Obtain(t.Context(), keys, long, nil)).Release(t.Context()))
				w.wantNoTrace(t, keys...)
			}
		}
	})
}
