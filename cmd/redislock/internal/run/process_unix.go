//go:build unix && !linux

package run

import (
	"os"
	"syscall"
)

// adoptOrphans is a matter of Linux. Elsewhere init has them.
func adoptOrphans() {}

// nameProcess is a matter of Linux.
func nameProcess(string) {}

func ownProgram() (string, error) { return os.Executable() }

// startedBy has the command be in a group of its own.
func startedBy() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
