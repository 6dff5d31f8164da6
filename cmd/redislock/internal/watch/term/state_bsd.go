//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package term

import "syscall"

// What the modes of a terminal are asked for, and set by.
const (
	getTermios = syscall.TIOCGETA
	setTermios = syscall.TIOCSETA
)
