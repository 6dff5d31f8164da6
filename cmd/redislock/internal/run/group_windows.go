package run

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// killSignal is for the exit status of a command that was killed.
const killSignal = 9

// A group is a job object with the command, and all that it has started. Windows ends its processes when the supervisor
// is gone, however it ends.
type group struct {
	pid    int
	job    windows.Handle
	events chan message
}

// resumeAll lets all threads of a process go on: the one that os/exec starts has no handle here.
var resumeAll = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

const (
	mayDoAll          = 0x1f0fff
	killedByThisGroup = 128 + killSignal
)

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type jobAccounting struct {
	_      [4]int64
	_      [2]uint32
	active uint32
	_      uint32
}

// inherited opens a pipe that this process was started with. Those that it starts do not get it.
func inherited(handle uint) *os.File {
	_ = syscall.SetHandleInformation(syscall.Handle(handle), syscall.HANDLE_FLAG_INHERIT, 0)
	return os.NewFile(uintptr(handle), "pipe")
}

// newSupervisor prepares the supervisor.
func newSupervisor(e *errand, in, out *os.File) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, superviseName)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	for _, pipe := range []struct {
		flag string
		file *os.File
	}{{"--in", in}, {"--out", out}} {
		handle := syscall.Handle(pipe.file.Fd())
		if err := syscall.SetHandleInformation(handle, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT); err != nil {
			return nil, err
		}
		cmd.SysProcAttr.AdditionalInheritedHandles = append(cmd.SysProcAttr.AdditionalInheritedHandles, handle)
		cmd.Args = append(cmd.Args, pipe.flag, strconv.FormatUint(uint64(handle), 10))
	}
	cmd.Args = append(cmd.Args, "--ttl", e.ttl.String(), "--grace", e.grace.String(), "--", e.path)
	cmd.Args = append(cmd.Args, e.command...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd, nil
}

// startGroup starts the command in a job object. It does nothing before it is in there.
func startGroup(e *errand) (*group, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		return nil, err
	}
	cmd, err := execute(e.path, e.command, &syscall.SysProcAttr{CreationFlags: windows.CREATE_SUSPENDED})
	if err != nil {
		return nil, err
	}
	g := &group{pid: cmd.Process.Pid, job: job, events: make(chan message, 4)}
	if err := g.resume(); err != nil {
		_ = cmd.Process.Kill() // it has done nothing yet
		return nil, err
	}
	go g.wait(cmd)
	return g, nil
}

// resume puts the command into the job, and lets it begin.
func (g *group) resume() error {
	process, err := windows.OpenProcess(mayDoAll, false, uint32(g.pid))
	if err != nil {
		return err
	}
	defer windows.CloseHandle(process) //nolint:errcheck // it is open
	if err := windows.AssignProcessToJobObject(g.job, process); err != nil {
		return err
	}
	if status, _, _ := resumeAll.Call(uintptr(process)); status != 0 {
		return errors.New("it cannot be resumed")
	}
	return nil
}

func (g *group) wait(cmd *exec.Cmd) {
	_ = cmd.Wait() // the status is in ProcessState
	g.events <- message{Say: sayEnded, Status: cmd.ProcessState.ExitCode()}
}

// signal does nothing: a Ctrl-C of the console reaches the command by itself, and there are no others.
func (g *group) signal(int) {}

// terminate does nothing: there is no way to ask any process to end. It is killed when the grace is over.
func (g *group) terminate() {}

// kill ends the processes of the job.
func (g *group) kill() { _ = windows.TerminateJobObject(g.job, killedByThisGroup) }

// alive reports whether the job has processes.
func (g *group) alive() bool {
	var a jobAccounting
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	return err == nil && a.active > 0
}

func (g *group) giveBack() bool { return false }

// killGroup has nothing to do: Windows has ended the processes of the job when its supervisor was gone.
func killGroup(int, *zombies) bool { return false }

// zombies are a matter of unix.
type zombies struct{}
