package run

import (
	"os"
	"syscall"
)

const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER

// adoptOrphans gives this process the orphans among those whom it has started, so that it can wait for them.
func adoptOrphans() { _, _, _ = syscall.Syscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0) }

// nameProcess shows this process under a name, where the file that it was started from would be shown.
func nameProcess(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0) // it is for people alone
}

// ownProgram returns the program of this process, also if its file was replaced meanwhile.
func ownProgram() (string, error) { return "/proc/self/exe", nil }

const setDeathSignal = 1 // PR_SET_PDEATHSIG

// dieWithParent has this process be killed when the thread ends that has started it. That is a matter of the thread that
// calls it; it holds for what this thread executes.
func dieWithParent() {
	_, _, _ = syscall.Syscall(syscall.SYS_PRCTL, setDeathSignal, uintptr(syscall.SIGKILL), 0)
}

// startedBy has the command be in a group of its own, and be killed when the thread ends that starts it.
func startedBy() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
