package line_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/world"
)

// Entries that this version cannot read stand in nobody's way, and no release fails because of them.
func TestQueueStrangeEntries(t *testing.T) {
	const later = "9999999999999" // alive for long
	world.Scenario(t, func(t *testing.T, w *world.World) {
		for i, strange := range []string{
			"", "|", "something else", "id|" + later, "id|" + later + "|w", "id|" + later + "|wp--|60000|1|",
			"id|" + later + "|x|p--|60000|1|0|0|value", "id|" + later + "|w|-p-|60000|1|0|0|value",
			"id|" + later + "|rp-h|60000|many|0|0|value", "id||wp--|60000|1|0|0|value",
			"id|1" + strings.Repeat("0", 15) + "|wp--|60000|1|0|0|value", "id|" + later + "|wp--|1" + strings.Repeat("0", 12) + "|1|0|0|value",
			"id|" + later + "|wp--|60000|" + strings.Repeat("1", 10) + "|0|0|value", "id|" + strings.Repeat("1", 10_000) + "value",
			"id|" + later + "|wp--|60000|1|" + strings.Repeat("1", 400) + "|0|value", "id|" + later + "|wp--|0|1|0|0|value",
		} {
			for _, set := range [][]string{{"a"}, {"a", "b"}} {
				keys := w.Keys(fmt.Sprint(set[0], i, len(set)), fmt.Sprint("b", i))[:len(set)]
				enter := func() {
					t.Helper()
					line := "redislock:line:{" + keys[0] + "}"
					check.NoError(t, w.RDB.ZAdd(t.Context(), line, redis.Z{Score: 1, Member: strange}).Err())
					check.NoError(t, w.RDB.Expire(t.Context(), line, world.Long).Err())
				}
				holder := check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), keys, world.Long, nil))
				turns := make(chan world.Turn, 1)
				w.Wait(t.Context(), turns, "a", keys, nil)
				w.InLine(t, keys[len(keys)-1], 1)
				enter()
				check.NoError(t, holder.Release(t.Context()))
				got, ok := check.Receive(turns, world.Polled)
				if !ok {
					t.Fatalf("behind %q nobody is served", strange)
				}
				check.NoError(t, got.Err)
				enter()
				check.NoError(t, got.Lock.Release(t.Context()))
				enter()
				check.NoError(t, check.Must[*redislock.Lock](t)(w.Client.Obtain(t.Context(), keys, world.Long, nil)).Release(t.Context()))
				w.WantNoTrace(t, keys...)
			}
		}
	})
}
