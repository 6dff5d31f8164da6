//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package term

import (
	"io"
	"os"
	"syscall"
	"time"
	"unsafe"
)

// Supported says that this system has what a screen needs.
const Supported = true

// A state is the modes of a terminal.
type state struct{ syscall.Termios }

// openTTY opens the terminal that controls the process. It is not what os.Open opens: a read is to wait.
func openTTY() (*os.File, error) {
	fd, err := syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: "/dev/tty", Err: err}
	}
	return os.NewFile(uintptr(fd), "/dev/tty"), nil
}

func getState(file *os.File) (*state, error) {
	s := new(state)
	return s, ioctl(file, getTermios, unsafe.Pointer(&s.Termios))
}

func setState(file *os.File, s *state) error {
	return ioctl(file, setTermios, unsafe.Pointer(&s.Termios))
}

// raw returns the modes in which each key is given at once, and shown nowhere. Ctrl-C and Ctrl-Z send their signals as before.
// A read that finds nothing ends after a tenth of a second.
func (s *state) raw() *state {
	r := *s
	r.Lflag &^= syscall.ICANON | syscall.ECHO | syscall.ECHONL | syscall.IEXTEN
	r.Iflag &^= syscall.ICRNL | syscall.INLCR | syscall.IGNCR | syscall.IXON
	r.Cc[syscall.VMIN], r.Cc[syscall.VTIME] = 0, 1
	return &r
}

// ioctl asks for, or changes, something of a terminal. It goes on if a signal interrupts it.
func ioctl(file *os.File, request uintptr, argument unsafe.Pointer) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var number syscall.Errno
	err = conn.Control(func(fd uintptr) {
		for {
			_, _, number = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(argument))
			if number != syscall.EINTR {
				return
			}
		}
	})
	if err == nil && number != 0 {
		err = os.NewSyscallError("ioctl", number)
	}
	return err
}

// read waits for keys for a tenth of a second. An os.File takes it for the end of the file if there are none, so the file is not
// asked.
func (t *Terminal) read(buffer []byte) (n int, err error) {
	conn, err := t.in.SyscallConn()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if failed := conn.Control(func(fd uintptr) { n, err = syscall.Read(int(fd), buffer) }); failed != nil {
		return 0, failed
	}
	switch {
	case err == syscall.EINTR || err == syscall.EAGAIN: //nolint:errorlint // a system call returns the number itself
		time.Sleep(50 * time.Millisecond)
		return 0, nil
	case err != nil:
		return 0, err
	case n == 0 && time.Since(began) < 10*time.Millisecond:
		// The modes were changed for a moment, or the terminal is gone.
		time.Sleep(50 * time.Millisecond)
		if _, err := getState(t.in); err != nil {
			return 0, io.EOF
		}
	}
	return n, nil
}
