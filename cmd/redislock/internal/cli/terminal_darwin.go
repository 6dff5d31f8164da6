package cli

import (
	"syscall"
	"unsafe"
)

// getTermios asks for the settings of a terminal; only a terminal has them.
const getTermios = syscall.TIOCGETA

// poll asks about descriptors, without waiting.
func poll(asked unsafe.Pointer, n uintptr) (uintptr, syscall.Errno) {
	r, _, errno := syscall.Syscall(syscall.SYS_POLL, uintptr(asked), n, 0)
	return r, errno
}
