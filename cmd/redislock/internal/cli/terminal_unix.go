//go:build linux || darwin

package cli

import (
	"syscall"
	"unsafe"
)

func isTerminal(fd uintptr) bool {
	var state syscall.Termios
	return ioctl(fd, getTermios, unsafe.Pointer(&state))
}

func terminalSize(fd uintptr) (columns, rows int) {
	var size struct{ rows, columns, width, height uint16 }
	if !ioctl(fd, syscall.TIOCGWINSZ, unsafe.Pointer(&size)) {
		return 0, 0
	}
	return int(size.columns), int(size.rows)
}

// enableEscapes has nothing to do: every terminal takes escape sequences, unless TERM says that it is dumb.
func enableEscapes(uintptr) bool { return true }

func ioctl(fd, request uintptr, to unsafe.Pointer) bool {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(to))
	return errno == 0
}
