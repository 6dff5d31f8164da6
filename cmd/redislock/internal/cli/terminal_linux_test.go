package cli

import (
	"os"
	"testing"

	"github.com/creack/pty"

	"github.com/seed-14de3678/redislock/internal/check"
)

// openTerminal opens a pseudo-terminal of a size, and returns the side that a program has.
func openTerminal(t *testing.T, columns, rows uint16) *os.File {
	t.Helper()
	master, file, err := pty.Open()
	check.NoError(t, err)
	t.Cleanup(func() { master.Close() })
	t.Cleanup(func() { file.Close() })
	check.NoError(t, pty.Setsize(master, &pty.Winsize{Cols: columns, Rows: rows}))
	return file
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	file := openTerminal(t, 81, 25)
	if !IsTerminal(file) {
		t.Error("a pseudo-terminal is no terminal")
	}
	if columns, rows := TerminalSize(file); columns != 81 || rows != 25 {
		t.Errorf("%d × %d characters, want 81 × 25", columns, rows)
	}
	check.NoError(t, file.Close())
	if IsTerminal(file) {
		t.Error("a closed file is a terminal")
	}
}

func TestScreenOfTerminal(t *testing.T) {
	file := openTerminal(t, 80, 24)
	for _, tt := range []struct {
		term, noColour string
		live, colour   bool
	}{
		{"xterm", "", true, true},
		{"xterm", "1", true, false},
		{"dumb", "", false, false},
	} {
		t.Setenv("TERM", tt.term)
		t.Setenv("NO_COLOR", tt.noColour)
		if s := NewScreen(file); s.Live != tt.live || s.Colour != tt.colour {
			t.Errorf("TERM=%s NO_COLOR=%s: live %t, colour %t", tt.term, tt.noColour, s.Live, s.Colour)
		}
	}
}
