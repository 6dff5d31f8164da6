package main

import (
	"os/exec"
	"syscall"
	"time"
)

// inGroup makes a command the head of a process group of its own, which is killed as a whole when its context ends.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd) }
	cmd.WaitDelay = 5 * time.Second
}

// killGroup ends whatever is left of the group of a command that was started.
func killGroup(cmd *exec.Cmd) error {
	return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
