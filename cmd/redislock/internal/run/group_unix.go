//go:build unix

package run

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
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

// startGroup starts the command. Its group has the terminal from the start if redislock has it, and gives it away.
func startGroup(e *errand) (*group, error) {
	runtime.LockOSThread() // whose end would end the command; see startedBy
	adoptOrphans()
	nameProcess(supervisorTitle)
	t := openTerminal()
	defer t.close()
	attr := startedBy()
	if e.terminal && t.foreground() == e.group {
		attr.Foreground, attr.Ctty = true, t.fd
	}
	cmd, err := execute(e.path, e.command, attr)
	if errors.Is(err, syscall.ENOEXEC) { // a script that does not say of what; as execvp(3) does it
		cmd, err = execute("/bin/sh", append([]string{"sh", e.path}, e.command[1:]...), attr)
	}
	if err != nil {
		if attr.Foreground { // the one that could not become the command has taken it
			t.give(t.foreground(), e.group)
		}
		return nil, notExecuted(e.path, err)
	}
	ignoreAll()
	g := &group{pid: cmd.Process.Pid, own: e.group, events: make(chan message, 16)}
	go g.reap()
	return g, nil
}

// notExecuted says why a command could not be started. Its error has the exit status of env(1).
func notExecuted(path string, err error) error {
	why := err
	if e, ok := errors.AsType[*os.PathError](err); ok {
		why = e.Err
	}
	if !errors.Is(err, syscall.ENOENT) {
		return cli.Exit(cli.CannotRun, fmt.Errorf("cannot run %s: %w", cli.Text(path), why))
	}
	if _, gone := os.Stat(path); gone != nil {
		return cli.Exit(cli.NotFound, fmt.Errorf("cannot run %s: %w", cli.Text(path), why))
	}
	return cli.Exit(cli.CannotRun, fmt.Errorf("cannot run %s: %w (of what its first line names)", cli.Text(path), why))
}

// reap waits for the command, and for the orphans of its group where the system gives them to this process.
func (g *group) reap() {
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
			g.events <- message{Say: sayEnded, Signal: int(status.Signal()), Status: 128 + int(status.Signal())}
		case status.Exited():
			g.events <- message{Say: sayEnded, Status: status.ExitStatus()}
		}
	}
}

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
