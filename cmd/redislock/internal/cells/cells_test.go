package cells_test

import (
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cells"
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
