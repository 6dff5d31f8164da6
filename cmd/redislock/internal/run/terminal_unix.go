//go:build unix

package run

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// A terminal is the controlling terminal of this process. A nil terminal is none.
type terminal struct {
	fd  int
	own int // the process group of this process
}

// openTerminal returns nil if there is none.
func openTerminal() *terminal {
	fd, err := syscall.Open("/dev/tty", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &terminal{fd: fd, own: syscall.Getpgrp()}
}

func (t *terminal) close() {
	if t != nil {
		_ = syscall.Close(t.fd)
	}
}

// foreground returns the process group that may read the terminal, 0 if there is none.
func (t *terminal) foreground() int {
	if t == nil {
		return 0
	}
	id, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return id
}

// give passes the terminal from one group to another, and reports whether the one had it. From then on this process
// ignores the signal that a process gets for that in the background.
func (t *terminal) give(from, to int) bool {
	if from == 0 || to == 0 || t.foreground() != from {
		return false
	}
	signal.Ignore(syscall.SIGTTOU)
	return unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, to) == nil
}

// isOurs reports whether the group of this process has the terminal, and the command can have it from the start: in a
// pipeline another process of the group may want it, as in "redislock run … | less". There the command gets it when it
// asks for it.
func (t *terminal) isOurs() bool {
	return t != nil && t.foreground() == t.own && !isPiped(os.Stdin) && !isPiped(os.Stdout)
}

func isPiped(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}

// takeBack takes the terminal from a group that is gone.
func (t *terminal) takeBack(from int) {
	if t != nil {
		t.give(from, t.own)
	}
}
