// Package term is the terminal: its size, the keys that are pressed, and a screen of its own, which is given back on every way
// out.
package term

import (
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// What a terminal is told. Lines do not wrap: what does not fit is not shown.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l"
	leave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// A Terminal is one that shows a screen. It is safe for concurrent use.
type Terminal struct {
	in  *os.File // where keys are read, and what its modes are set by
	out *os.File

	mu    sync.Mutex
	saved *term.State // under mu; the modes before Enter, nil unless it was entered
}

// Open finds the terminal of the program: out has to be one. Keys are read from in if that is one, else from the terminal that
// controls the process.
func Open(in io.Reader, out *os.File) (*Terminal, error) {
	if file, ok := in.(*os.File); ok && cli.IsTerminal(file) {
		return &Terminal{in: file, out: out}, nil
	}
	file, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return &Terminal{in: file, out: out}, nil
}

// Enter makes the terminal show a screen of its own, without a cursor, and give each key at once. What it was before comes back
// with [Terminal.Leave]. It may be called again after the process was stopped: others may have changed the terminal meanwhile.
func (t *Terminal) Enter() error {
	t.mu.Lock()
	defer t.mu.Unlock()
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
	t.mu.Lock()
	defer t.mu.Unlock()
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

// Guard is deferred by every goroutine beside the one that leaves: if it panics the terminal is given back first, so that the
// panic can be read.
func (t *Terminal) Guard() {
	if cause := recover(); cause != nil {
		_ = t.Leave() // the panic is the news
		panic(cause)
	}
}

// most is how many columns or lines a screen has: more is no terminal but an error.
const most = 2000

// Size returns how many columns and lines the terminal has.
func (t *Terminal) Size() (width, height int) {
	width, height = cli.TerminalSize(t.out)
	if width <= 0 || height <= 0 {
		return 80, 24
	}
	return min(width, most), min(height, most)
}

// Show shows a frame: lines for the whole screen. It is one write, which newer terminals show as a whole.
func (t *Terminal) Show(frame string) error {
	_, err := t.out.WriteString("\x1b[?2026h\x1b[H" + frame + "\x1b[?2026l")
	return err
}

// escapePause is after how much time ESC is a key: nothing that belongs to it has come.
const escapePause = 100 * time.Millisecond

// Keys reads what is pressed, and gives it on, until done is closed or the terminal is gone. It closes the channel then. The keys
// of signals send them.
func (t *Terminal) Keys(done <-chan struct{}, to chan<- Key) {
	defer t.Guard()
	defer close(to)
	read := make(chan string)
	go t.read(done, read)
	var input string
	for {
		var pause <-chan time.Time
		if input != "" {
			pause = time.After(escapePause)
		}
		isAll := false
		select {
		case more, open := <-read:
			if !open {
				return
			}
			input += more
		case <-pause:
			isAll = true
		case <-done:
			return
		}
		for {
			var key Key
			if key, input = ParseKeys(input, isAll); key == "" {
				break
			}
			if sendSignal(key) {
				continue
			}
			select {
			case to <- key:
			case <-done:
				return
			}
		}
	}
}

// read reads until the terminal is gone. A read cannot be ended, so this does not end before something is pressed after done.
func (t *Terminal) read(done <-chan struct{}, to chan<- string) {
	defer t.Guard()
	defer close(to)
	buffer := make([]byte, 256)
	for {
		n, err := t.in.Read(buffer)
		if err != nil {
			return
		}
		select {
		case to <- string(buffer[:n]):
		case <-done:
			return
		}
	}
}
