package term

import "syscall"

// What the modes of a terminal are asked for, and set by.
const (
	getTermios = syscall.TCGETS
	setTermios = syscall.TCSETS
)
