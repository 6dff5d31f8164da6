//go:build linux || darwin

package cli

import "unsafe"

// hasNoReader reports whether a descriptor is the end of a pipe to write to, and the other end is closed.
func hasNoReader(fd uintptr) bool {
	const failed, hungUp = 8, 16 // POLLERR, which Linux sets, and POLLHUP, which macOS sets
	asked := struct {
		fd           int32
		asks, answer int16
	}{fd: int32(fd)}
	n, errno := poll(unsafe.Pointer(&asked), 1)
	return errno == 0 && n == 1 && asked.answer&(failed|hungUp) != 0
}
