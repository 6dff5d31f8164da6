package quick_test

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/inctx"
	"github.com/seed-14de3678/redislock/internal/owners"
	"github.com/seed-14de3678/redislock/internal/proto"
)

// What is stored of a token, the id of a caller and metadata, and what is read of it.
func TestValue(t *testing.T) {
	for _, test := range []struct{ token, id, metadata, want string }{
		{"t", "", "", "t"},
		{"t", "", "m", "t|m"},
		{"t", "", "m|a||b", "t|m|a||b"},
		{"t", "", "m owner=x", "t|m owner=x"},
		{"t", "", "owner=x", "t|owner=x"},
		{"t", "", "\x00\r\n\xff", "t|\x00\r\n\xff"},
		{"t", "", "?", "t|?"},
		{"t", "", "|", "t||||"},
		{"t", "", "|m", "t||||m"},
		{"t", "", "|x|m", "t||||x|m"},
		{"t", "", "|x=|m|?", "t||||x=|m|?"},
		{"t", "x", "", "t||x|"},
		{"t", "x", "m", "t||x|m"},
		{"t", "x", "|m|", "t||x||m|"},
		{"t", "x", "m owner=y", "t||x|m owner=y"},
		{"t", "x", "m|?", "t||x|m|?"},
		{"t", "x?", "m", "t||x?|m"},
		{"t", "x", "\xff", "t||x|\xff"},
	} {
		got := proto.EncodeValue(test.token, test.id, test.metadata)
		if got != test.want {
			t.Errorf("got value %q, want %q", got, test.want)
		}
		if token, id, metadata := proto.DecodeValue(got); token != test.token || id != test.id || metadata != test.metadata {
			t.Errorf("got %q, %q and %q from %q, want %q, %q and %q", token, id, metadata, got, test.token, test.id, test.metadata)
		}
	}
}

// A candidate has a mark behind its id until it is elected, whatever its metadata are, and metadata are what they were.
func TestValueOfCandidate(t *testing.T) {
	for _, test := range []struct{ id, metadata, want string }{
		{"x", "m", "t||x=|m|"},
		{"x", "", "t||x=||"},
		{"x", "m?", "t||x=|m?|"},
		{"x", "|?|", "t||x=||?||"},
		{"", "?", "t||=|?|"},
	} {
		elected := proto.EncodeCandidate("t", test.id, test.metadata)
		if elected != test.want {
			t.Errorf("got value %q, want %q", elected, test.want)
		}
		for behind, want := range map[string]string{"": test.id, "?": test.id + "?"} {
			if token, id, metadata := proto.DecodeValue(elected + behind); token != "t" || id != want || metadata != test.metadata {
				t.Errorf("got %q, %q and %q from %q, want t, %q and %q", token, id, metadata, elected+behind, want, test.metadata)
			}
		}
	}
}

// What no lock has stored is metadata as it stands there, and a value without a token has the rest all the same.
func TestValueOfNobody(t *testing.T) {
	for _, test := range []struct{ value, token, id, metadata string }{
		{value: ""},
		{value: "|"},
		{value: "|m", metadata: "m"},
		{value: "||x|m", id: "x", metadata: "m"},
		{value: "||x=|m|", id: "x", metadata: "m"},
		{value: "t|", token: "t"},
		{value: "t||", token: "t", metadata: "|"},
		{value: "t||m", token: "t", metadata: "|m"},
		{value: "t||a b|m", token: "t", metadata: "|a b|m"},
		{value: "t||\n|m", token: "t", metadata: "|\n|m"},
		{value: "t||a=b|m", token: "t", metadata: "|a=b|m"},
		{value: "t||x=|m", token: "t", metadata: "|x=|m"},
		{value: "t||x=|m?", token: "t", metadata: "|x=|m?"},
		{value: "t||" + strings.Repeat("x", 65) + "|m", token: "t", metadata: "|" + strings.Repeat("x", 65) + "|m"},
	} {
		token, id, metadata := proto.DecodeValue(test.value)
		if token != test.token || id != test.id || metadata != test.metadata {
			t.Errorf("got %q, %q and %q from %q, want %q, %q and %q", token, id, metadata, test.value, test.token, test.id, test.metadata)
		}
	}
}

func FuzzValue(f *testing.F) {
	f.Add("token", "", "metadata")
	f.Add("job-1", "id", "")
	f.Add("t", "", "a|b||c")
	f.Add("t", "x", "\x00\r\n\xff")
	f.Add("t", "", "|x|m owner=x")
	f.Add("t", "x?", "m|?")
	f.Add("t", "", "|x=|m|")
	f.Fuzz(func(t *testing.T, token, id, metadata string) {
		if strings.Contains(token, proto.Separator) || id != "" && !proto.IsCaller(id) {
			t.Skip()
		}
		elected := proto.EncodeCandidate(token, id, metadata)
		for value, want := range map[string]string{
			proto.EncodeValue(token, id, metadata): id, elected: id, elected + inctx.Pending: id + inctx.Pending,
		} {
			gotToken, gotID, gotMetadata := proto.DecodeValue(value)
			if gotToken != token || gotID != want || gotMetadata != metadata {
				t.Errorf("got %q, %q, %q from %q; want %q, %q, %q", gotToken, gotID, gotMetadata, value, token, want, metadata)
			}
			if _, detail, _ := strings.Cut(value, "|"); value != token {
				if gotToken, gotID, gotMetadata := proto.DecodeValue("|" + detail); gotToken != "" || gotID != want || gotMetadata != metadata {
					t.Errorf("left: got %q, %q, %q; want no token, %q, %q", gotToken, gotID, gotMetadata, want, metadata)
				}
			}
		}
	})
}

func TestTokens(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		token, id := owners.NewToken(), owners.NewID()
		if len(token) != 30 || strings.Contains(token, proto.Separator) || seen[token[8:]] {
			t.Fatalf("got token %q", token)
		}
		if len(id) != 22 || strings.Contains(id, proto.Separator) || seen[id] {
			t.Fatalf("got id %q", id)
		}
		seen[token[8:]], seen[id] = true, true
	}
}
