package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
)

// What is stored in Redis cannot move the cursor of a terminal, or turn a line round, in JSON either; and it is the same
// for whoever reads it.
func TestJSONIsPrintable(t *testing.T) {
	t.Parallel()
	text := "ä鍵\U0001f512 <&> \"\\ \x1b[31m\x7f\u0080\u009b2J\u009f\u00a0\u061c\u200e\u200f\u2028\u202a\u202e\u2066\u2069\ufeff\U000e0001"
	var b bytes.Buffer
	check.NoError(t, cli.WriteJSON(&b, map[string]string{"key": text}))
	line, ok := strings.CutSuffix(b.String(), "\n")
	if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 || !ok {
		t.Errorf("it is not one line of printable characters: %q", b.String())
	}
	if !strings.Contains(line, `ä鍵🔒 <&>`) || !strings.Contains(line, `\u009b2J`) {
		t.Errorf("got %s", line)
	}
	var got map[string]string
	check.NoError(t, json.Unmarshal(b.Bytes(), &got))
	if got["key"] != text {
		t.Errorf("got %q, want %q", got["key"], text)
	}
}
