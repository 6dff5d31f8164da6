//go:build !linux && !darwin && !windows

package cli

// On other systems nothing is known about terminals: there is no colour, and nothing is redrawn.

func isTerminal(uintptr) bool { return false }

func terminalSize(uintptr) (columns, rows int) { return 0, 0 }

func enableEscapes(uintptr) bool { return false }
