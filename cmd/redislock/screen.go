package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A screen is what the demo writes to. On a terminal a progress line is overwritten by what comes
// next; elsewhere some of them are written as lines. It is safe for concurrent use.
type screen struct {
	w      io.Writer
	live   bool // progress lines overwrite one another
	colour bool

	mu      sync.Mutex
	pending bool      // the cursor stands behind a progress line
	last    time.Time // when something was written
}

const (
	framePause = 50 * time.Millisecond  // before a progress line, on a terminal
	linePause  = 500 * time.Millisecond // and elsewhere
)

const (
	bold  = "1"
	dim   = "2"
	red   = "31"
	green = "32"
)

// newScreen finds out what the writer can do.
func newScreen(w io.Writer) *screen {
	s := &screen{w: w}
	if file, ok := w.(*os.File); ok && os.Getenv("TERM") != "dumb" {
		info, err := file.Stat()
		s.live = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	s.colour = s.live && os.Getenv("NO_COLOR") == ""
	return s
}

// paint colours a text, where there are colours.
func (s *screen) paint(colour, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// title begins an act.
func (s *screen) title(number int, title, about string) {
	s.line("\n%s\n   %s", s.paint(bold, fmt.Sprintf("%d. %s", number, title)), s.paint(dim, about))
}

// verdict ends an act.
func (s *screen) verdict(v verdict) {
	if v.ok() {
		s.line("   %s %s", s.paint(green, "✓"), v.String())
	} else {
		s.line("   %s %s", s.paint(red, "✗"), v.String())
	}
}

// note writes a line of an act.
func (s *screen) note(format string, args ...any) { s.line("   "+format, args...) }

// line writes a line, in the place of a progress line if there is one.
func (s *screen) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipeLocked()
	say(s.w, format+"\n", args...)
	s.last = time.Now()
}

// tell writes a progress line, unless something was written a moment ago.
func (s *screen) tell(format string, args ...any) {
	if s.live {
		s.flash(format, args...)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) < linePause {
		return
	}
	say(s.w, "   "+format+"\n", args...)
	s.last = time.Now()
}

// flash is tell, on a terminal alone: for what would be in the way if it stayed.
func (s *screen) flash(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live || time.Since(s.last) < framePause {
		return
	}
	s.wipeLocked()
	say(s.w, "%s", s.paint(dim, "   "+fmt.Sprintf(format, args...)))
	s.pending, s.last = true, time.Now()
}

// settle leaves the cursor at the start of a line.
func (s *screen) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wipeLocked()
}

func (s *screen) wipeLocked() {
	if s.pending {
		say(s.w, "\r\x1b[K")
		s.pending = false
	}
}

// say writes to somebody. That it could not be written there is nobody to tell.
func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format, args...) }
