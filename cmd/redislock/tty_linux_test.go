package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/seed-14de3678/redislock/internal/check"
)

// A tty is a pseudo-terminal, and what was written to it.
type tty struct {
	t             *testing.T
	master, slave *os.File
	screen        written
	read          chan struct{} // closed when nothing more can be read
}

func newTTY(t *testing.T, columns, rows int) *tty {
	t.Helper()
	master, slave, err := pty.Open()
	check.NoError(t, err)
	y := &tty{t: t, master: master, slave: slave, read: make(chan struct{})}
	y.resize(columns, rows)
	go func() {
		defer close(y.read)
		_, _ = io.Copy(&y.screen, master) // it ends with an error when nobody has the terminal open
	}()
	t.Cleanup(func() {
		_, _ = slave.Close(), master.Close()
		<-y.read
	})
	return y
}

// resize gives the terminal another size.
func (y *tty) resize(columns, rows int) {
	y.t.Helper()
	check.NoError(y.t, pty.Setsize(y.master, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)}))
}

// run starts a process in a session of its own, with the terminal. What the process reads and writes is the terminal, unless it
// has something else.
func (y *tty) run(p *process) *process {
	y.t.Helper()
	if p.Stdin == nil {
		p.Stdin = y.slave
	}
	p.Stdout, p.Stderr = y.slave, y.slave
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	return p.start(y.t)
}

// press presses keys.
func (y *tty) press(keys string) {
	y.t.Helper()
	check.Must[int](y.t)(y.master.WriteString(keys))
}

// quit ends the tool with the key for that.
func (y *tty) quit(process *process) {
	y.t.Helper()
	y.press("q")
	if status := process.status(y.t); status != 0 {
		y.t.Errorf("exit status %d, want 0", status)
	}
}

// shows waits until a text was written to the terminal.
func (y *tty) shows(text string) {
	y.t.Helper()
	y.showsTimes(text, 1)
}

// showsTimes waits until a text was written so many times.
func (y *tty) showsTimes(text string, times int) {
	y.t.Helper()
	defer func() {
		if y.t.Failed() {
			y.t.Logf("on the screen is %q", &y.screen)
		}
	}()
	check.Eventually(y.t, soon, fmt.Sprintf("%q on the screen %d times", text, times), func() bool {
		return strings.Count(y.screen.String(), text) >= times
	})
}

// all returns all that was written, when those who have written have ended.
func (y *tty) all() string {
	_ = y.slave.Close()
	<-y.read
	return y.screen.String()
}
