package cli

import (
	"bytes"
	"os"
	"testing"
	"testing/synctest"
	"time"
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

func TestColour(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	// The null device is a character device, as a terminal is.
	if s := NewScreen(null); !s.Live || !s.Colour {
		t.Errorf("live %t, colour %t, want both", s.Live, s.Colour)
	}
	t.Setenv("NO_COLOR", "1")
	if s := NewScreen(null); !s.Live || s.Colour {
		t.Errorf("NO_COLOR: live %t, colour %t, want live alone", s.Live, s.Colour)
	}
	t.Setenv("TERM", "dumb")
	if s := NewScreen(null); s.Live {
		t.Error("TERM=dumb: live")
	}
}
