package term

import (
	"slices"
	"testing"
)

func TestParseKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		input string
		isAll bool
		want  []Key
		rest  string
	}{
		{"q", false, []Key{"q"}, ""},
		{"é世", false, []Key{"é", "世"}, ""},
		{"\x1b[A\x1bOB\x1b[5~\x1b[H", false, []Key{Up, Down, PageUp, Home}, ""},
		{"\r\n\x7f\b\x0c", false, []Key{Enter, Enter, Backspace, Backspace, Redraw}, ""},
		{"\x03\x1c\x1a", false, []Key{interrupt, quit, stop}, ""},
		{"\x1b", false, nil, "\x1b"},
		{"\x1b", true, []Key{Escape}, ""},
		{"\x1b[", false, nil, "\x1b["},
		{"\x1b[", true, []Key{Escape, "["}, ""},
		{"\x1b[1;5", false, nil, "\x1b[1;5"},
		{"\x1b[1;5Dx", false, []Key{Unknown, "x"}, ""},
		{"\x1b[1\x1b[A", false, []Key{Unknown, Up}, ""},
		{"\x1bq", false, []Key{Escape, "q"}, ""},
		{"\xe4\xb8", false, nil, "\xe4\xb8"},
		{"\xe4\xb8", true, []Key{Unknown, Unknown}, ""},
		{"\xffa\x00", false, []Key{Unknown, "a", Unknown}, ""},
	} {
		var got []Key
		rest := tt.input
		for {
			var key Key
			if key, rest = ParseKeys(rest, tt.isAll); key == "" {
				break
			}
			got = append(got, key)
		}
		if !slices.Equal(got, tt.want) || rest != tt.rest {
			t.Errorf("ParseKeys(%q, %v): got %q and %q, want %q and %q", tt.input, tt.isAll, got, rest, tt.want, tt.rest)
		}
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add("\x1b[A\x1bOq\x1b[1;\x1b\xff")
	f.Fuzz(func(t *testing.T, input string) {
		for rest := input; rest != ""; {
			key, left := ParseKeys(rest, true)
			if key == "" || len(left) >= len(rest) {
				t.Fatalf("of %q nothing was taken", rest)
			}
			rest = left
		}
		ParseKeys(input, false)
	})
}
