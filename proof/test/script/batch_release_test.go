package script_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/redistest"
)

// What is released together is released as it would be alone: of what somebody else holds by then, no
// key is touched, and its own script has to say so.
func TestBatchReleasesWhatIsOurs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, b redistest.Backend) {
		rdb := b.Client(t)
		// Sets of a caller each: one key and several, stolen, lost and still held.
		var keys []string
		var all []plain
		for i, set := range [][]string{{"mine"}, {"theirs"}, {""}, {"mine", "mine"}, {"mine", "theirs"}, {"", "mine"}} {
			var names []string
			for j, value := range set {
				key := fmt.Sprintf("{%s}%d-%d", t.Name(), i, j)
				names = append(names, key)
				if value == "" {
					continue
				}
				if err := rdb.Set(t.Context(), key, value, time.Minute).Err(); err != nil {
					t.Fatal(err)
				}
			}
			all, keys = append(all, plain{keys: names, value: "mine"}), append(keys, names...)
		}
		wantReplies(t, (&fixture{rdb: rdb}).runBatch(t, all...), int64(1), int64(0), int64(0), int64(1), int64(0), int64(0))
		left, err := rdb.MGet(t.Context(), keys...).Result()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{nil, "theirs", nil, nil, nil, "mine", "theirs", nil, "mine"}, left); diff != "" {
			t.Error(diff)
		}
	})
}
