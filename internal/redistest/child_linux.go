package redistest

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// dieWithParent has the kernel kill the child when the thread that forked it
// ends.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// inOwnGroup has the child ignore what is sent to the group of this process.
func inOwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// stopped reports whether the process stands still; a signal sent has not
// necessarily arrived yet.
func stopped(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// "pid (name) state": the name may contain anything, so look behind it.
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return bytes.HasPrefix(rest, []byte("T"))
}

func (c *child) signalStop() error     { return c.cmd.Process.Signal(syscall.SIGSTOP) }
func (c *child) signalContinue() error { return c.cmd.Process.Signal(syscall.SIGCONT) }
