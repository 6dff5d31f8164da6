package cli

import (
	"syscall"
	"unsafe"
)

// getTermios asks for the settings of a terminal; only a terminal has them.
const getTermios = syscall.TCGETS

// poll asks about descriptors, without waiting.
func poll(asked unsafe.Pointer, n uintptr) (uintptr, syscall.Errno) {
	var atOnce syscall.Timespec
	r, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(asked), n, uintptr(unsafe.Pointer(&atOnce)), 0, 0, 0)
	return r, errno
}
