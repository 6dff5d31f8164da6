// Package term is the terminal: its size, the keys that are pressed, and a screen of its own, which is given back on every way
// out but a panic of another goroutine.
package term

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// What a terminal is told. Lines do not wrap: what does not fit is not shown.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// A Terminal is one that shows a screen. It belongs to one goroutine; another one may read keys.
type Terminal struct {
	in    *os.File    // where keys are read, and what its modes are set by
	out   *os.File    // where the screen is
	saved *term.State // the modes before Enter, nil unless it was entered
}

// Open finds the terminal of the program: out has to be one. Keys are read from in if that is one, else from the terminal that
// controls the process.
func Open(in io.Reader, out *os.File) (*Terminal, error) {
	if file, ok := in.(*os.File); ok && cli.IsTerminal(file) {
		return &Terminal{in: file, out: out}, nil
	}
	file, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	return &Terminal{in: file, out: out}, err
}

// Enter makes the terminal show a screen of its own, without a cursor, and give each key at once. What it was before comes back
// with [Terminal.Leave]. It may be called again after the process was stopped: others may have changed the terminal meanwhile.
func (t *Terminal) Enter() error {
	saved, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return err
	}
	if t.saved == nil {
		t.saved = saved
	}
	_, err = t.out.WriteString(enter)
	return err
}

// Leave gives the terminal back as it was. It may be called at any time, and more than once.
func (t *Terminal) Leave() error {
	if t.saved == nil {
		return nil
	}
	_, failed := t.out.WriteString(leave)
	if err := term.Restore(int(t.in.Fd()), t.saved); err != nil {
		return err
	}
	t.saved = nil // until it is entered again the user may change it
	return failed
}

// Size returns how many columns and lines the terminal has.
func (t *Terminal) Size() (width, height int) {
	width, height = cli.TerminalSize(t.out)
	if width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Show shows a frame: lines for the whole screen. It is one write, which newer terminals show as a whole. A terminal that was
// given back shows nothing more.
func (t *Terminal) Show(frame string) error {
	if t.saved == nil {
		return nil
	}
	_, err := t.out.WriteString("\x1b[?2026h\x1b[H" + frame + "\x1b[?2026l")
	return err
}

// Keys reads what is pressed, and gives it on, until ctx ends or the terminal is gone. It closes the channel then. The keys of
// signals send them. A read cannot be ended, so something has to be pressed once more before it returns.
func (t *Terminal) Keys(ctx context.Context, to chan<- string) {
	defer close(to)
	var input string
	for buffer := make([]byte, 256); ; {
		n, err := t.in.Read(buffer)
		if err != nil {
			return
		}
		for key, rest := NextKey(input + string(buffer[:n])); ; key, rest = NextKey(rest) {
			if input = rest; key == "" {
				break
			}
			if sendSignal(key) {
				continue
			}
			select {
			case to <- key:
			case <-ctx.Done():
				return
			}
		}
	}
}
