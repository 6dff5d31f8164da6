package cli

import "syscall"

// getTermios asks for the settings of a terminal; only a terminal has them.
const getTermios = syscall.TCGETS
