package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/watch/vt"
	"github.com/seed-14de3678/redislock/internal/check"
)

// A pty is a terminal in which a process runs, and what it shows.
type pty struct {
	*vt.Terminal
	master, slave *os.File
}

// newPTY opens a pseudo-terminal of this size.
func newPTY(t *testing.T, width, height int) *pty {
	t.Helper()
	master := check.Must[*os.File](t)(os.OpenFile("/dev/ptmx", os.O_RDWR, 0))
	t.Cleanup(func() { _ = master.Close() })
	unlock, number := int32(0), uint32(0)
	control(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	name := "/dev/pts/" + strconv.Itoa(int(number))
	slave := check.Must[*os.File](t)(os.OpenFile(name, os.O_RDWR|syscall.O_NOCTTY, 0))
	t.Cleanup(func() { _ = slave.Close() })
	p := &pty{vt.New(width, height), master, slave}
	p.resize(t, width, height)
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			if err != nil {
				return
			}
			_, _ = p.Write(b[:n])
		}
	}()
	return p
}

// control is an ioctl.
func control(t *testing.T, file *os.File, request uintptr, argument unsafe.Pointer) {
	t.Helper()
	conn := check.Must[syscall.RawConn](t)(file.SyscallConn())
	check.NoError(t, conn.Control(func(fd uintptr) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(argument)); errno != 0 {
			t.Fatalf("ioctl %#x: %v", request, errno)
		}
	}))
}

// resize gives the terminal another size.
func (p *pty) resize(t *testing.T, width, height int) {
	t.Helper()
	p.Resize(width, height)
	size := [4]uint16{uint16(height), uint16(width)}
	control(t, p.master, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
}

// modes returns the modes of the terminal.
func (p *pty) modes(t *testing.T) (modes syscall.Termios) {
	t.Helper()
	control(t, p.slave, syscall.TCGETS, unsafe.Pointer(&modes))
	return modes
}

// run starts a process of the tool that has the terminal for its own.
func (p *pty) run(t *testing.T, command *process) *process {
	t.Helper()
	command.Stdin, command.Stdout, command.Stderr = p.slave, p.slave, p.slave
	command.Env = append(command.Env, "TERM=xterm")
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return command.start(t)
}

// press presses keys.
func (p *pty) press(t *testing.T, keys string) {
	t.Helper()
	check.Must[int](t)(p.master.WriteString(keys))
}

// await waits until the screen is as it should be.
func (p *pty) await(t *testing.T, what string, state func(screen string) bool) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("the screen is\n%s", p)
		}
	}()
	check.Eventually(t, soon, what, func() bool { return state(p.String()) })
}

// awaitText waits for texts that are all on the screen.
func (p *pty) awaitText(t *testing.T, texts ...string) {
	t.Helper()
	p.await(t, "the screen has "+strings.Join(texts, " and "), func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// lineWith returns the first line of the screen that has a text, and its number.
func (p *pty) lineWith(text string) (line string, y int) {
	for y, line := range strings.Split(p.String(), "\n") {
		if strings.Contains(line, text) {
			return line, y
		}
	}
	return "", -1
}

// isRestored ends the test if the terminal is not as it was before.
func (p *pty) isRestored(t *testing.T, before syscall.Termios) {
	t.Helper()
	p.await(t, "the terminal is as before", func(string) bool { return p.Mode() == vt.Mode{} })
	after := p.modes(t)
	raw := func(modes *syscall.Termios) []byte {
		return unsafe.Slice((*byte)(unsafe.Pointer(modes)), unsafe.Sizeof(*modes))
	}
	if !bytes.Equal(raw(&before), raw(&after)) {
		t.Errorf("the modes of the terminal were\n%+v and are\n%+v", before, after)
	}
	if strange := p.Strange(); strange != nil {
		t.Errorf("the terminal was told what it does not know: %q", strange)
	}
}
