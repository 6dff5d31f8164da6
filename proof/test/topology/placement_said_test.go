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
	apart := map[string]string{
		"client":       "NOPERM",
		"cluster":      slots + `"{x}a" is in slot 16287, "{y}c" in slot 12222`,
		"ring":         slots + `"{x}a" and "{y}c"` + tags,
		"wrapped ring": slots + `"{x}a" and "{y}c"` + tags,
	}
	bare := map[string]string{"client": "NOPERM", "cluster": "NOPERM", "ring": "NOPERM", "wrapped ring": slots + `"x" and "{x}b"` + tags}
	for _, c := range []struct {
		prefix string
		keys   []string
		set    string // as an error names it that comes from a server
		said   map[string]string
	}{
		{"", []string{"{x}a", "{x}b", "{y}c", "{z}d"}, `"{x}a" and 3 more`, apart},
		{"p:", []string{"{x}a", "{x}b", "{y}c", "{z}d"}, `"{x}a" and 3 more`, apart},
		{"", []string{"x", "{x}b"}, `"x" and 1 more`, bare},
	} {
		var opts []redislock.ClientOption
		if c.prefix != "" {
			opts = append(opts, redislock.WithKeyPrefix(c.prefix))
		}
		all, _ := clients(t, opts...)
		for kind, client := range all {
			_, obtained := client.ObtainRead(t.Context(), c.keys, time.Minute, nil)
			_, broken := client.Break(t.Context(), c.keys, "")
			attached := client.Attach(c.keys, "t").Release(t.Context())
			for operation, err := range map[string]error{"obtain": obtained, "break": broken, "release": attached} {
				want := "redislock: " + operation + ": " + c.said[kind]
				if c.said[kind] == "NOPERM" {
					want = "redislock: " + operation + " " + c.set + ": NOPERM"
				}
				if err == nil || err.Error() != want {
					t.Errorf("%s with the prefix %q: got error %v, want %s", kind, c.prefix, err, want)
				}
			}
		}
	}
}
