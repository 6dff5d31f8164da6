package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
)

func TestScreen(t *testing.T) {
	t.Parallel()
	t.Run("terminal", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { // where no time passes by itself
			var b bytes.Buffer
			s := &Screen{w: &b, Live: true, Colour: true}
			s.Tell("a")
			time.Sleep(FramePause - 1)
			s.Tell("too soon")
			s.Line("b")
			if got, want := b.String(), "\x1b[2m   a\x1b[0m\r\x1b[Kb\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	})
	t.Run("terminal without colour", func(t *testing.T) {
		t.Parallel()
		var b bytes.Buffer
		s := &Screen{w: &b, Live: true}
		s.Flash("a")
		s.Settle()
		if got, want := b.String(), "   a\r\x1b[K"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("file", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			var b bytes.Buffer
			s := NewScreen(&b)
			s.Tell("a")
			s.Flash("in the way")
			time.Sleep(LinePause - 1)
			s.Tell("too soon")
			s.Line("b")
			if got, want := b.String(), "   a\nb\n"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	})
}

// The null device is a character device, as a terminal is.
func TestNoTerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	null := check.Must[*os.File](t)(os.OpenFile(os.DevNull, os.O_WRONLY, 0))
	defer null.Close()
	file := check.Must[*os.File](t)(os.Create(filepath.Join(t.TempDir(), "file")))
	defer file.Close()
	for _, f := range []*os.File{null, file, nil} {
		if s := NewScreen(f); IsTerminal(f) || s.Live || s.Colour {
			t.Errorf("%v: terminal %t, live %t, colour %t, want none", f, IsTerminal(f), s.Live, s.Colour)
		}
		if columns, rows := TerminalSize(f); columns != 0 || rows != 0 {
			t.Errorf("%v: %d × %d characters", f, columns, rows)
		}
	}
}
