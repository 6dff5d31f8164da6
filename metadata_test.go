package redislock

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/owners"
)

func FuzzValue(f *testing.F) {
	f.Add("token", "metadata")
	f.Add("job-1", "")
	f.Add("t", "a|b||c")
	f.Add("t", "\x00\r\n\xff")
	f.Fuzz(func(t *testing.T, token, metadata string) {
		if checkToken(token) != nil {
			t.Skip()
		}
		gotToken, gotMetadata := decodeValue(encodeValue(token, metadata))
		if gotToken != token || gotMetadata != metadata {
			t.Errorf("got %q, %q; want %q, %q", gotToken, gotMetadata, token, metadata)
		}
	})
}

func TestTokens(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		token, id := owners.NewToken(), owners.NewID()
		if len(token) != 30 || checkToken(token) != nil || seen[token[8:]] {
			t.Fatalf("got token %q", token)
		}
		if len(id) != 22 || checkToken(id) != nil || seen[id] {
			t.Fatalf("got id %q", id)
		}
		seen[token[8:]], seen[id] = true, true
	}
}

func TestInstanceMetadata(t *testing.T) {
	got := InstanceMetadata()
	for _, want := range []string{"host=", " pid=", " prog=", " since="} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want it to contain %q", got, want)
		}
	}
	if !printable(got) || strings.Contains(got, "|") || got != InstanceMetadata() {
		t.Errorf("got %q, want one line that stays the same", got)
	}
	if got, want := word(`my "prog"`), `"my \"prog\""`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
