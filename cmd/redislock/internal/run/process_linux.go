package run

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans gives this process the orphans among those whom it has started, so that it can wait for them.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// nameProcess shows this process under a name, where the file that it was started from would be shown.
func nameProcess(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0) // it is for people alone
}

// ownProgram returns the program of this process, also if its file was replaced meanwhile.
func ownProgram() (string, error) { return "/proc/self/exe", nil }

// startedBy has the command be in a group of its own, and be killed when the thread ends that starts it.
func startedBy() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
