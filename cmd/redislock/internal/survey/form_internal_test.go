package survey

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/rights"
	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// Every token that the library makes, or has made before there was Holder.Since, is recognised by what is read of it.
func TestMadeTokensAreRecognised(t *testing.T) {
	t.Parallel()
	for range 2000 {
		for _, token := range []string{owners.NewToken(), owners.NewID()} {
			for _, value := range []string{token, token + "|", token + "|" + strings.Repeat("metadata", 9)} {
				if start := value[:min(len(value), formBytes)]; !hasForm(start, false) || !hasForm(start, true) {
					t.Fatalf("%q is not recognised", value)
				}
			}
		}
	}
}

func TestForm(t *testing.T) {
	t.Parallel()
	token, made := "0123456789-_abcdefghiA", 1
	for value, want := range map[string]int{ // 0: no lock, 1: a lock, 2: one if its key is known for a lock
		token: made, token + "|": made, token + "|x": made, "|": made, "|metadata": made,
		"Ab012345" + token:                       made,
		"":                                       0,
		token[:21]:                               2,
		token + "x":                              2,
		token + "\n":                             2,
		token[:21] + "B":                         2, // four bits too many
		"A~012345" + token:                       2,
		"B0012345" + token:                       2, // of the year 2107
		"Ab01234:" + token:                       2,
		token[:20] + "+A":                        2,
		"my-host-17":                             2,
		"my host|metadata":                       2,
		`{"json": "a|b"}`:                        2,
		strings.Repeat("x", 512):                 2,
		strings.Repeat("x", 512) + "|":           2,
		strings.Repeat("x", 513):                 0,
		"dce0a4b2-3c4f-4c5e-8a6b-1f2e3d4c5b6a":   2, // a UUID
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.x": 2,
	} {
		start := func(n int) string { return value[:min(len(value), n)] }
		got := 0
		if hasForm(start(ownTokenBytes), true) {
			got = 2
		}
		if hasForm(start(formBytes), false) {
			got = made
		}
		if got != want {
			t.Errorf("%q: got %d, want %d", value, got, want)
		}
	}
}

var globKeys = []string{
	"a", "b", "ab", "abc", "a*c", "a?c", "a[c", "a]c", `a\c`, "a-c", "^", "a\nb", "äö", "order:17", "order:18:x", "[x]", "**", "aXbXc",
}

var globs = []string{
	"*", "**", "a", "a*", "*c", "a*c", "a?c", `a\*c`, `a\?c`, `a\[c`, `a\\c`, `a\`, "[ab]", "[^a]", "[^ab]*", "[a-c]*", "[c-a]*", "a[]-^]c",
	"a[^-]c", `a[\]]c`, `a[\-]c`, "a[", "[", "[]", "[^]", "[^]*", "[a", "[^a", "[a-", `[\`, "order:[0-9]*", "*:*:*", "?", "??", "*a*b*c*", "ä*", `\a`,
	"a[*]c", "a[?]c", "[[]x]", "***", "a**c", "*?", "?*",
}

// Globs mean what they mean to the server.
func TestGlob(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t, redistest.Redis).Client(t)
	for _, key := range globKeys {
		check.NoError(t, rdb.Set(t.Context(), key, "", 0).Err())
	}
	for _, text := range globs {
		wanted := map[string]bool{}
		for _, key := range check.Must[[]string](t)(rdb.Keys(t.Context(), text).Result()) {
			wanted[key] = true
		}
		got := map[string]bool{}
		for _, key := range globKeys {
			if glob(text).match(key) {
				got[key] = true
			}
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%q (-server +ours):\n%s", text, diff)
		}
		if key, ok := literal(text); ok && (len(got) > 1 || len(got) == 1 && !got[key]) {
			t.Errorf("%q is taken for the key %q alone, and matches %v", text, key, got)
		}
	}
	for _, key := range globKeys {
		if !glob(rights.Escaped(key)).match(key) {
			t.Errorf("%q does not match %q", rights.Escaped(key), key)
		}
		if got, ok := literal(rights.Escaped(key)); !ok || got != key {
			t.Errorf("%q is taken for %q, %t", rights.Escaped(key), got, ok)
		}
	}
}
