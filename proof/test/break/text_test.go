package break_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/listen"
	"github.com/seed-14de3678/redislock/internal/world"
)

// A notice is read as it was written, names the keys of a set that is not large, and is bounded.
func TestNoticeText(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]listen.Notice{
		"nothing": {}, "any bytes": {Reason: "a|b\x00\n", Keys: []string{"k|1", "", "\xff"}}, "many": {Keys: world.Numbered("k", 400)},
		"ended": {Keys: []string{"k|1", "b"}, Ended: true},
	} {
		got, ok := listen.ParseNotice(n.Text())
		if !ok || got.Reason != n.Reason || got.Ended != n.Ended || !slices.Equal(got.Keys, n.Keys) {
			t.Errorf("%s: got %+v, %t, want %+v", name, got, ok, n)
		}
		if len(n.Keys) > 0 && (!got.Concerns([]string{"other", n.Keys[1]}) || got.Concerns([]string{"other"})) {
			t.Errorf("%s: it concerns other keys than it names", name)
		}
	}
	large := listen.Notice{Reason: strings.Repeat("r", 1024), Keys: world.Numbered("k", 4000)}.Text()
	got, ok := listen.ParseNotice(large)
	if !ok || len(large) > 1100 || got.Keys != nil || !got.Concerns([]string{"any"}) {
		t.Errorf("got a notice of %d bytes, want one that names no keys and concerns all", len(large))
	}
}

func FuzzNotice(f *testing.F) {
	f.Add("b|1|1|x1|y")
	f.Fuzz(func(t *testing.T, text string) {
		if n, ok := listen.ParseNotice(text); ok {
			again, ok := listen.ParseNotice(n.Text())
			if !ok || again.Reason != n.Reason {
				t.Errorf("got %+v, %t for %q", again, ok, text)
			}
		}
	})
}
