//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// setGroup makes a command the head of a process group of its own, in which all that it starts is.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// killGroup ends whatever is left of the group of a command that was started.
func killGroup(cmd *exec.Cmd) error {
	return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
