package tree

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for metadata, want := range map[string]string{
		"host=web-3 pid=812 prog=shop since=2026-03-01T09:26:53Z": "web-3 pid 812 shop",
		`host="my host" pid=812 prog="a\"b" since=x job=5`:        `my host pid 812 a"b job=5`,
		"host=web-3":       "host=web-3",
		"nightly report":   "nightly report",
		`host="open pid=1`: `"open pid 1`,
	} {
		if got := shortName(&party{metadata: metadata}); got != want {
			t.Errorf("%s: %q, want %q", metadata, got, want)
		}
	}
	// A process id is used again, after a while.
	m := newModel(statesOf("a w _@1 < A@1:w1", "b w x"))
	m.parties[2].metadata = strings.Replace(m.parties[0].metadata, "2026", "2025", 1)
	n := namesOf(m)
	if n.of[0] == n.of[2] || n.of[1] != "A (web-1 pid 1 shop)" {
		t.Errorf("names %q", n.of)
	}
	if got := redislock.InstanceMetadata(); shortName(&party{metadata: got}) == got {
		t.Errorf("%q is not understood", got)
	}
}

func TestShellWord(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"orders:17": "orders:17", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "-x": "", "": "", "a\nb": "", "{a}": "'{a}'", "ü": "'ü'",
	} {
		if got, _ := shellWord(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}
