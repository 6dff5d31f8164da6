package cells_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
	"github.com/seed-14de3678/redislock/cmd/redislock/internal/watch/vt"
)

func TestShort(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text  string
		width int
		want  string
	}{
		{"orders:17", 9, "orders:17"},
		{"orders:17", 8, "orde…:17"},
		{"orders:17", 5, "or…17"},
		{"orders:17", 1, "…"},
		{"orders:17", 0, ""},
		{"orders:17", -3, ""},
		{"世界世界", 8, "世界世界"},
		{"世界世界", 7, "世…界"},
		{"世界世界", 6, "世…界"},
		{"世界世界", 2, "…"},
		{"e\u0301t\u0301e\u0301", 3, "e\u0301t\u0301e\u0301"},
		{"e\u0301t\u0301e\u0301", 2, "e\u0301…"},
		{"a\x1b[31mb", 9, "a?[31mb"},
		{"a\nb\x00\u202e\xff", 9, "a?b???"},
		{"z" + strings.Repeat("\u0300", 500), 3, "z" + strings.Repeat("\u0300", 4)},
		{"", 3, ""},
	} {
		if got := cells.Short(tt.text, tt.width); got != tt.want {
			t.Errorf("Short(%q, %d) = %q, want %q", tt.text, tt.width, got, tt.want)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a", "orders:17", "世界世界", "🔒🔒🔒🔒", "e\u0301", "\u0301", "\x1b]0;x\a"} {
		for width := range 12 {
			for _, right := range []bool{false, true} {
				if got := cells.Width(cells.Fit(text, width, right)); got != width {
					t.Errorf("Fit(%q, %d) takes %d columns", text, width, got)
				}
			}
		}
	}
}

// A wide character that is written over is not left as a half.
func TestPut(t *testing.T) {
	t.Parallel()
	s := cells.New(6, 1)
	s.Put(0, 0, 0, "世界世")
	s.Put(1, 0, 0, "x")
	s.Put(4, 0, 0, "y")
	if got, want := s.String(), " x界y\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Put(5, 0, 0, "世") // there is room for one half
	s.Put(7, 0, 0, "x")
	s.Put(0, 3, 0, "x")
	if got, want := s.String(), " x界y\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

var letters = []string{"a", "b", " ", " ", " ", "世", "🔒", "é", "e\u0301", "…"}

// scribble writes something anywhere on a screen.
func scribble(rng *rand.Rand, s *cells.Screen) {
	for range rng.IntN(12) {
		var text strings.Builder
		for range rng.IntN(8) {
			text.WriteString(letters[rng.IntN(len(letters))])
		}
		x, y := rng.IntN(s.Width+2)-1, rng.IntN(s.Height+1)
		s.Put(x, y, cells.Style(rng.IntN(128)), text.String())
		if rng.IntN(4) == 0 {
			s.Fill(rng.IntN(s.Width), rng.IntN(s.Height), cells.Style(rng.IntN(128)))
		}
	}
}

// copyOf makes the same screen.
func copyOf(s *cells.Screen) *cells.Screen {
	c := cells.New(s.Width, s.Height)
	for y := range s.Height {
		for x := range s.Width {
			c.Put(x, y, s.At(x, y).Style, s.At(x, y).Text)
		}
	}
	return c
}

// Whatever was shown before: what a terminal shows after a difference is what it shows when all is drawn anew.
func TestDiffIsFullRedraw(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 1))
		width, height := 1+rng.IntN(30), 1+rng.IntN(5)
		terminal := vt.New(width, height)
		var before *cells.Screen
		after := cells.New(width, height)
		for range 12 {
			if rng.IntN(3) == 0 {
				after = cells.New(width, height)
			}
			scribble(rng, after)
			if _, err := terminal.Write([]byte("\x1b[?7l" + cells.Diff(before, after))); err != nil {
				t.Fatal(err)
			}
			anew := vt.New(width, height)
			_, _ = anew.Write([]byte("\x1b[?7l" + cells.Diff(nil, after)))
			if got, want := terminal.Styles(), anew.Styles(); got != want {
				t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, got, want)
			}
			if got, want := terminal.String(), after.String(); got != want {
				t.Fatalf("seed %d: got\n%q\nwant\n%q", seed, got, want)
			}
			if strange := append(terminal.Strange(), anew.Strange()...); strange != nil {
				t.Fatalf("seed %d: sequences that the terminal does not know: %q", seed, strange)
			}
			before = copyOf(after)
		}
	}
}

// On a terminal that knows no wide characters everything else stands where it should.
func TestDiffKeepsColumns(t *testing.T) {
	t.Parallel()
	s := cells.New(20, 1)
	s.Put(0, 0, 0, "世界世 a")
	s.Put(10, 0, 0, "🔒|b")
	terminal := vt.New(20, 1).Narrow()
	_, _ = terminal.Write([]byte(cells.Diff(nil, s)))
	if got, want := terminal.String(), "世界世    a  🔒 |b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Little changes, so little is sent.
func TestDiffIsSmall(t *testing.T) {
	t.Parallel()
	before, after := cells.New(80, 24), cells.New(80, 24)
	for y := range 24 {
		before.Put(0, y, 0, strings.Repeat("x", 80))
		after.Put(0, y, 0, strings.Repeat("x", 80))
	}
	if got := cells.Diff(before, after); got != "" {
		t.Errorf("nothing changed, and %q is sent", got)
	}
	after.Put(40, 12, 0, "y")
	if got := cells.Diff(before, after); len(got) > 10 {
		t.Errorf("one cell changed, and %q is sent", got)
	}
	empty := cells.New(80, 24)
	if got := cells.Diff(before, empty); len(got) > 24*10 {
		t.Errorf("the screen was emptied, and %d bytes are sent", len(got))
	}
}
