//go:build unix

package run

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
)

// reader returns what reads a pipe, and calls news when there may be something in it. The reader does it, and not who waits for
// news: a process that was stopped has not heard of what came meanwhile.
func reader(in *os.File, news func()) func() (text []byte, gone bool) {
	raw, _ := in.SyscallConn() // in is a file
	var deaf atomic.Bool
	go func() {
		_ = raw.Read(func(uintptr) bool { news(); return false }) // each time that something comes
		deaf.Store(true)
		news()
	}()
	return func() (text []byte, gone bool) {
		err := raw.Control(func(fd uintptr) { text, gone = readAll(int(fd)) })
		return text, gone || err != nil || deaf.Load()
	}
}

// readAll reads until there is nothing more for now, or ever.
func readAll(fd int) (text []byte, gone bool) {
	for buf := make([]byte, 4096); ; {
		switch n, err := syscall.Read(fd, buf); {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EAGAIN):
			return text, false
		case n <= 0:
			return text, true
		default:
			text = append(text, buf[:n]...)
		}
	}
}
