package script_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/check"
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
		args := []any{}
		for i, set := range [][]string{{"mine"}, {"theirs"}, {""}, {"mine", "mine"}, {"mine", "theirs"}, {"", "mine"}} {
			args = append(args, "mine", "", len(set))
			for j, value := range set {
				key := fmt.Sprintf("{%s}%d-%d", t.Name(), i, j)
				keys = append(keys, key)
				if value == "" {
					continue
				}
				if err := rdb.Set(t.Context(), key, value, time.Minute).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		all := linesOf(keys[:len(keys):len(keys)], keys)
		got, err := rdb.Eval(t.Context(), check.SourceOf("batch"), all, args...).Int64Slice()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int64{1, 0, 0, 1, 0, 0}, got); diff != "" {
			t.Error(diff)
		}
		left, err := rdb.MGet(t.Context(), keys...).Result()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{nil, "theirs", nil, nil, nil, "mine", "theirs", nil, "mine"}, left); diff != "" {
			t.Error(diff)
		}
	})
}
