package term

import (
	"slices"
	"strings"
	"testing"
)

func TestNextKey(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		input string
		want  []string
		rest  string
	}{
		{"q", []string{"q"}, ""},
		{"é世", []string{"é", "世"}, ""},
		{"\x1b[A\x1bOB\x1b[5~\x1b[H", []string{"[A", "OB", "[5~", "[H"}, ""},
		{"\r\n\x03\x1c\x1a", []string{"\r", "\n", "\x03", "\x1c", "\x1a"}, ""},
		{"\x1b", nil, "\x1b"},
		{"\x1b[", nil, "\x1b["},
		{"\x1bO", nil, "\x1bO"},
		{"\x1b[1;5", nil, "\x1b[1;5"},
		{"\x1b[1;5Dx", []string{"[1;5D", "x"}, ""},
		{"\x1b\x1b[A", []string{"[A"}, ""},
		{"\x1bq", []string{"q"}, ""},
		{"\xffa\x00", []string{"\xff", "a", "\x00"}, ""},
	} {
		var got []string
		rest := tt.input
		for {
			var key string
			if key, rest = NextKey(rest); key == "" {
				break
			}
			got = append(got, key)
		}
		if !slices.Equal(got, tt.want) || rest != tt.rest {
			t.Errorf("%q: got %q and %q, want %q and %q", tt.input, got, rest, tt.want, tt.rest)
		}
	}
}

func FuzzNextKey(f *testing.F) {
	f.Add("\x1b[A\x1bOq\x1b[1;\x1b\xff")
	f.Fuzz(func(t *testing.T, input string) {
		key, rest := NextKey(input)
		if input != key+rest && !strings.HasSuffix(input, key+rest) || key == "" && rest != "" && rest[0] != '\x1b' {
			t.Fatalf("of %q %q was taken, and %q is left", input, key, rest)
		}
	})
}
