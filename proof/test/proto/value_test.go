package proto_test

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/proto"
)

// What a lock stores can be taken apart again, whatever its metadata is.
func TestValues(t *testing.T) {
	t.Parallel()
	const long = 64
	for _, c := range []struct {
		stored, id, metadata string
		candidate            bool
	}{
		{"token", "", "", false},
		{"token|who", "", "who", false},
		{"token|who|else", "", "who|else", false},
		{"token||||who", "", "|who", false},
		{"token||id|", "id", "", false},
		{"token||id|who", "id", "who", false},
		{"token||id||who|", "id", "|who|", false},
		{"token||id=||", "id", "", true},
		{"token||id=|who|", "id", "who", true},
		{"token||id=||who||", "id", "|who|", true},
	} {
		token, id, metadata := proto.DecodeValue(c.stored)
		if token != "token" || id != c.id || metadata != c.metadata || proto.TokenOf(c.stored) != "token" {
			t.Errorf("%q: %q, %q, %q", c.stored, token, id, metadata)
		}
		encoded := proto.EncodeValue(token, id, metadata)
		if c.candidate {
			encoded = proto.EncodeCandidate(token, id, metadata)
		}
		if encoded != c.stored {
			t.Errorf("%q is stored as %q", c.stored, encoded)
		}
	}
	if _, id, metadata := proto.DecodeValue(proto.EncodeCandidate("token", "id", "who?") + "?"); id != "id?" || metadata != "who?" {
		t.Errorf("pending: %q, %q", id, metadata)
	}
	if _, id, metadata := proto.DecodeValue("token|||who"); id != "" || metadata != "who" { // nobody stores it so
		t.Errorf("%q, %q", id, metadata)
	}
	for _, detail := range []string{
		"|id", "|i d|who", "|i=d|who", "|" + strings.Repeat("i", long+1) + "|who", "|id=|who", "|=",
	} {
		if id, metadata := proto.DecodeDetail(detail); id != "" || metadata != detail {
			t.Errorf("%q: %q, %q", detail, id, metadata)
		}
	}
	for id, want := range map[string]bool{
		"": false, "i": true, strings.Repeat("i", long): true, strings.Repeat("i", long+1): false, "i d": false, "i|d": false, "i=d": false,
		`i"d`: false, "é": false, "\x7f": false, "~!": true,
	} {
		if proto.IsCaller(id) != want {
			t.Errorf("%q can be a caller's id: %t", id, !want)
		}
	}
}
