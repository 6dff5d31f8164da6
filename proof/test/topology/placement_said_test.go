package topology_test

import (
	"testing"
	"time"

	"github.com/seed-14de3678/redislock"
)

// What is said of two keys that cannot be in one set is what somebody needs who has to name them anew: the two that do not go
// together, and why. The keys have no prefix there.
func TestPlacementSays(t *testing.T) {
	t.Parallel()
	const slots, tags = "keys are not in one slot: ", " have no common hash tag, and may be on different shards"
	for prefix, said := range map[string]map[string]string{
		"": {
			"client":       "NOPERM",
			"cluster":      slots + `"{x}a" is in slot 16287, "{y}c" in slot 12222`,
			"ring":         slots + `"{x}a" and "{y}c"` + tags,
			"wrapped ring": slots + `"{x}a" and "{y}c"` + tags,
		},
		"p:": {
			"client":       "NOPERM",
			"cluster":      slots + `"{x}a" is in slot 16287, "{y}c" in slot 12222`,
			"ring":         slots + `"{x}a" and "{y}c"` + tags,
			"wrapped ring": slots + `"{x}a" and "{y}c"` + tags,
		},
	} {
		var opts []redislock.ClientOption
		if prefix != "" {
			opts = append(opts, redislock.WithKeyPrefix(prefix))
		}
		all, _ := clients(t, opts...)
		keys := []string{"{x}a", "{x}b", "{y}c", "{z}d"}
		for kind, client := range all {
			_, obtained := client.ObtainRead(t.Context(), keys, time.Minute, nil)
			_, broken := client.Break(t.Context(), keys, "")
			attached := client.Attach(keys, "t").Release(t.Context())
			for operation, err := range map[string]error{"obtain": obtained, "break": broken, "release": attached} {
				want := "redislock: " + operation + ": " + said[kind]
				if kind == "client" {
					want = "redislock: " + operation + ` "{x}a" and 3 more: ` + said[kind]
				}
				if err == nil || err.Error() != want {
					t.Errorf("%s with the prefix %q: got error %v, want %s", kind, prefix, err, want)
				}
			}
		}
	}
}
