package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A Screen is where a command shows what it finds. On a terminal a progress line is overwritten by what comes
// next; elsewhere some of them are written as lines. It is safe for concurrent use.
type Screen struct {
	w      io.Writer
	Live   bool // progress lines overwrite one another
	Colour bool

	mu      sync.Mutex
	pending bool      // the cursor stands behind a progress line
	last    time.Time // when something was written
}

// The pauses of progress lines.
const (
	FramePause = 50 * time.Millisecond  // before a progress line, on a terminal
	LinePause  = 500 * time.Millisecond // and elsewhere
)

// Colours for [Screen.Paint].
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// NewScreen finds out what the writer can do.
func NewScreen(w io.Writer) *Screen {
	s := &Screen{w: w, Live: os.Getenv("TERM") != "dumb" && takesEscapes(w)}
	s.Colour = s.Live && os.Getenv("NO_COLOR") == ""
	return s
}

// Paint colours a text, where there are colours.
func (s *Screen) Paint(colour, text string) string {
	if !s.Colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// Line writes a line, in the place of a progress line if there is one.
func (s *Screen) Line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipeLocked()
	Say(s.w, format+"\n", args...)
	s.last = time.Now()
}

// Tell writes a progress line, unless something was written a moment ago.
func (s *Screen) Tell(format string, args ...any) {
	if s.Live {
		s.Flash(format, args...)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) < LinePause {
		return
	}
	Say(s.w, "   "+format+"\n", args...)
	s.last = time.Now()
}

// Flash is tell, on a terminal alone: for what would be in the way if it stayed.
func (s *Screen) Flash(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.Live || time.Since(s.last) < FramePause {
		return
	}
	s.wipeLocked()
	Say(s.w, "%s", s.Paint(Dim, "   "+fmt.Sprintf(format, args...)))
	s.pending, s.last = true, time.Now()
}

// Settle leaves the cursor at the start of a line.
func (s *Screen) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipeLocked()
}

func (s *Screen) wipeLocked() {
	if s.pending {
		Say(s.w, "\r\x1b[K")
		s.pending = false
	}
}
