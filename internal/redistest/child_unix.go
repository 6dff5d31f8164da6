//go:build unix && !linux

package redistest

import "syscall"

// dieWithParent is a Linux matter.
func dieWithParent() *syscall.SysProcAttr { return nil }

// inOwnGroup has the child ignore what is sent to the group of this process.
func inOwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// stopped trusts the signal.
func stopped(int) bool { return true }

func (c *child) signalStop() error     { return c.cmd.Process.Signal(syscall.SIGSTOP) }
func (c *child) signalContinue() error { return c.cmd.Process.Signal(syscall.SIGCONT) }
