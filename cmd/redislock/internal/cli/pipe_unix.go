//go:build linux || darwin

package cli

import "golang.org/x/sys/unix"

// hasNoReader reports whether a descriptor is the end of a pipe to write to, and the other end is closed: Linux says that it has
// failed, and macOS that it has hung up.
func hasNoReader(fd uintptr) bool {
	asked := []unix.PollFd{{Fd: int32(fd)}}
	n, err := unix.Poll(asked, 0)
	return err == nil && n == 1 && asked[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}
