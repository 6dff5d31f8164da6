//go:build unix

package run

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
)

// killSignal is the signal that nobody can catch.
const killSignal = int(syscall.SIGKILL)

// supervisorTitle is how lists of processes call the supervisor. It is not the name of the tool: who kills all that has
// that name must not kill the supervisor together with redislock, because nobody would end what the command has started.
const supervisorTitle = "lock-supervisor"

// A group is the process group of the command.
type group struct {
	pid    int // of the command, and the id of the group
	own    int // the group of redislock, which gets the terminal back
	events chan message
	dead   zombies
}

// inherited opens a pipe that this process was started with. Those that it starts do not get it.
func inherited(fd uint) *os.File {
	syscall.CloseOnExec(int(fd))
	_ = syscall.SetNonblock(int(fd), true) // it is waited for as the runtime does it, with a deadline
	return os.NewFile(uintptr(fd), "pipe")
}

// bequeath lets the next process that is started have a pipe, and returns how that finds it.
func bequeath(f *os.File) uint {
	fd := f.Fd()
	_, _ = unix.FcntlInt(fd, unix.F_SETFD, 0) // it is a file that is open
	return uint(fd)
}

// newSupervisor prepares the supervisor, in a process group of its own: what is sent to the group of redislock, such as
// the kill -9 %1 of a shell, must not end it.
func newSupervisor(e *errand, in, out *os.File) (*exec.Cmd, error) {
	program, err := ownProgram()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program)
	cmd.Args = []string{
		supervisorTitle, superviseName, "--in", strconv.FormatUint(uint64(bequeath(in)), 10),
		"--out", strconv.FormatUint(uint64(bequeath(out)), 10), "--ttl", e.ttl.String(), "--grace", e.grace.String(),
		"--group", strconv.Itoa(syscall.Getpgrp()), "--terminal=" + strconv.FormatBool(e.terminal), "--", e.path,
	}
	cmd.Args = append(cmd.Args, e.command...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	adoptOrphans()
	return cmd, nil
}

// startGroup starts the command by way of the starter.
func startGroup(e *errand) (*group, error) {
	runtime.LockOSThread() // whose end would end the command; see startedBy
	adoptOrphans()
	nameProcess(supervisorTitle)
	program, err := ownProgram()
	if err != nil {
		return nil, err
	}
	report, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	g := &group{own: e.group, events: make(chan message, 16)}
	cmd := exec.Command(program)
	fd := strconv.FormatUint(uint64(bequeath(theirs)), 10)
	cmd.Args = []string{"redislock", starterName, "--out", fd, "--parent", strconv.Itoa(os.Getpid())}
	if e.terminal {
		cmd.Args = append(cmd.Args, "--from", strconv.Itoa(g.own))
	}
	cmd.Args = append(append(cmd.Args, "--", e.path), e.command...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = startedBy()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_ = theirs.Close()
	ignoreAll()
	g.pid = cmd.Process.Pid
	go g.reap(report)
	return g, nil
}

// reap waits for the command, and for the orphans of its group where the system gives them to this process.
func (g *group) reap(report *os.File) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		if text, _ := io.ReadAll(report); len(text) > 0 {
			status, why, _ := strings.Cut(string(text), " ")
			number, _ := strconv.Atoi(status)
			g.events <- message{Say: sayFailed, Status: number, Text: why}
		}
	}()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return // there is nobody left
		case pid != g.pid:
		case status.Stopped():
			g.events <- message{Say: sayStopped, Signal: int(status.StopSignal())}
		case status.Signaled():
			<-said
			g.events <- message{Say: sayEnded, Signal: int(status.Signal()), Status: 128 + int(status.Signal())}
		case status.Exited():
			<-said
			g.events <- message{Say: sayEnded, Status: status.ExitStatus()}
		}
	}
}

func (g *group) id() int { return g.pid }

// signal sends a signal to every process of the group. One that is stopped ends at a SIGTERM only if it goes on.
func (g *group) signal(number int) {
	signalGroup(g.pid, syscall.Signal(number))
	if number == int(syscall.SIGTERM) {
		signalGroup(g.pid, syscall.SIGCONT)
	}
}

// terminate asks the processes of the group to end.
func (g *group) terminate() { g.signal(int(syscall.SIGTERM)) }

// kill ends the processes of the group. It is reap that waits for them.
func (g *group) kill() { signalGroup(g.pid, syscall.SIGKILL) }

// alive reports whether the group has processes.
func (g *group) alive() bool { return signalGroup(g.pid, 0) && g.dead.someLive(g.pid) }

// killGroup kills a group that has no supervisor any more, and reports whether it has processes still.
func killGroup(id int, dead *zombies) bool {
	signalGroup(id, syscall.SIGKILL)
	reapOrphans()
	return signalGroup(id, 0) && dead.someLive(id)
}

// signalGroup reports whether there was anybody to send it to.
func signalGroup(id int, sig syscall.Signal) bool {
	err := syscall.Kill(-id, sig)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// reapOrphans lets the children of this process that have ended go: redislock has the orphans of a supervisor that was
// killed, where the system does that.
func reapOrphans() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
			return
		}
	}
}

// giveBack gives the terminal back to the group of redislock, and reports whether the command had it.
func (g *group) giveBack() bool {
	t := openTerminal()
	defer t.close()
	return t.give(g.pid, g.own)
}

// Starter is the command that becomes the command of redislock run.
func Starter() cli.Command { return starter() }
