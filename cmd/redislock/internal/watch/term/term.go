// Package term is the terminal: its size, the keys that are pressed, and a screen of its own, which is given back on every way
// out.
package term

import (
	"io"
	"os"
	"sync"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// What a terminal is told. Lines do not wrap: what does not fit is not shown.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[0m\x1b[2J"
	leave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// A Terminal is one that shows a screen. It is safe for concurrent use.
type Terminal struct {
	in     *os.File // where keys are read, and what its modes are set by
	out    *os.File
	opened bool // in was opened here

	mu      sync.Mutex
	entered bool   // under mu
	saved   *state // under mu; the modes before Enter
}

// Open finds the terminal of the program: out has to be one. Keys are read from in if that is one, else from the terminal that
// controls the process.
func Open(in io.Reader, out *os.File) (*Terminal, error) {
	t := &Terminal{out: out}
	if file, ok := in.(*os.File); ok && cli.IsTerminal(file) {
		t.in = file
		return t, nil
	}
	file, err := openTTY()
	if err != nil {
		return nil, err
	}
	t.in, t.opened = file, true
	return t, nil
}

// Enter makes the terminal show a screen of its own, without a cursor, and give each key at once. What it was before comes back
// with [Terminal.Leave]. It may be called again after the process was stopped: others may have changed the terminal meanwhile.
func (t *Terminal) Enter() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	saved, err := getState(t.in)
	if err != nil {
		return err
	}
	if t.saved == nil {
		t.saved = saved
	}
	if err := setState(t.in, t.saved.raw()); err != nil {
		return err
	}
	t.entered = true
	_, err = t.out.WriteString(enter)
	return err
}

// Leave gives the terminal back as it was. It may be called at any time, and more than once.
func (t *Terminal) Leave() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.entered {
		return nil
	}
	t.entered = false
	_, failed := t.out.WriteString(leave)
	if err := setState(t.in, t.saved); err != nil {
		return err
	}
	return failed
}

// Guard is deferred by every goroutine beside the one that leaves: if it panics the terminal is given back first, so that the
// panic can be read.
func (t *Terminal) Guard() {
	if cause := recover(); cause != nil {
		_ = t.Leave() // the panic is the news
		panic(cause)
	}
}

// Close leaves, and closes what was opened.
func (t *Terminal) Close() error {
	err := t.Leave()
	if t.opened {
		_ = t.in.Close() // it was only read
	}
	return err
}

// Size returns how many columns and lines the terminal has.
func (t *Terminal) Size() (width, height int) {
	width, height = cli.TerminalSize(t.out)
	if width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// WriteString tells the terminal something.
func (t *Terminal) WriteString(text string) (int, error) { return t.out.WriteString(text) }

// Keys reads what is pressed, and gives it on, until done is closed or the terminal is gone. It closes the channel then.
func (t *Terminal) Keys(done <-chan struct{}, to chan<- Key) {
	defer close(to)
	var input string
	buffer := make([]byte, 256)
	for {
		n, err := t.read(buffer)
		if err != nil {
			return
		}
		input += string(buffer[:n])
		for {
			var key Key
			if key, input = ParseKeys(input, n == 0); key == "" {
				break
			}
			select {
			case to <- key:
			case <-done:
				return
			}
		}
		select {
		case <-done:
			return
		default:
		}
	}
}
