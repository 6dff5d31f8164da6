package cli

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
)

// testFlags are flags of every kind.
func testFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Bool("quick", false, "")
	flags.Int("n", 0, "")
	flags.Duration("ttl", 0, "")
	flags.String("redis", "", "")
	return flags
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line   string
		splits bool
		want   string // the words; "!" for an error
	}{
		{"", false, ""},
		{"a b", false, "a b"},
		{"-quick a -n 3 b", false, "a b"},
		{"a -redis b c", false, "a c"},
		{"a -- -quick", false, "a -quick"},
		{"a -- -quick", true, "a -- -quick"},
		{"a -quick -- b -- c", true, "a -- b -- c"},
		{"-- a", true, "-- a"},
		{"- a", false, "- a"},
		{"a -slow", false, "!"},
		{"a -n x", false, "!"},
		{"a -n", false, "!"},
		{"a -redis -- b", false, "a b"}, // it is the value
	} {
		words, err := parse(testFlags(), strings.Fields(tt.line), tt.splits)
		got := strings.Join(words, " ")
		if err != nil {
			got = "!"
		}
		if got != tt.want {
			t.Errorf("%q, splits %t: got %q (%v), want %q", tt.line, tt.splits, got, err, tt.want)
		}
	}
}

// Whatever is typed, nothing panics, and each word that is neither a flag nor the value of one comes out once and in order.
func FuzzParse(f *testing.F) {
	f.Add("a\x00-quick\x00b\x00--\x00-n\x00c", true)
	f.Add("-redis\x00--\x00-\x00a\x00-ttl=3s", false)
	f.Fuzz(func(t *testing.T, line string, splits bool) {
		args := strings.Split(line, "\x00")
		words, err := parse(testFlags(), slices.Clone(args), splits)
		if err != nil {
			return
		}
		if want := wordsOf(args, splits); !slices.Equal(words, want) {
			t.Errorf("%q, splits %t: got %q, want %q", args, splits, words, want)
		}
	})
}

// wordsOf says what parse has to return where there is no error, in another way than parse does it.
func wordsOf(args []string, splits bool) (words []string) {
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--" && splits:
			return append(words, args[i:]...)
		case arg == "--":
			return append(words, args[i+1:]...)
		case len(arg) < 2 || arg[0] != '-':
			words = append(words, arg)
		case !strings.Contains(arg, "=") && strings.TrimLeft(arg, "-") != "quick":
			i++ // the value
		}
	}
	return words
}
