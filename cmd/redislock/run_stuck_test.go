//go:build unix

package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// fullPipe returns a pipe that has no room, and whose reader does not read: a pager that waits for a key.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	ends := [2]int{}
	check.NoError(t, syscall.Pipe(ends[:]))
	for _, end := range ends {
		syscall.CloseOnExec(end)
	}
	check.NoError(t, syscall.SetNonblock(ends[1], true))
	for size := 1 << 12; size > 0; {
		switch _, err := syscall.Write(ends[1], make([]byte, size)); {
		case errors.Is(err, syscall.EAGAIN):
			size /= 2
		default:
			check.NoError(t, err)
		}
	}
	check.NoError(t, syscall.SetNonblock(ends[1], false))
	in, out := os.NewFile(uintptr(ends[0]), "pipe"), os.NewFile(uintptr(ends[1]), "pipe")
	t.Cleanup(func() { _, _ = in.Close(), out.Close() })
	return out
}

// Nobody waits for whoever reads stderr: the command is ended all the same.
func TestRunStderrStuck(t *testing.T) {
	t.Parallel()
	const script = "exec 2>/dev/null; echo $$ >$D/command; exec sleep 600"
	t.Run("redislock is killed", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t)
		c := p.shell(script, "--ttl", "6s")
		c.Stderr = fullPipe(t)
		c.start(t)
		command := p.pid("command")
		check.NoError(t, c.Process.Kill())
		wantGone(t, command)
	})
	t.Run("the lock is broken", func(t *testing.T) {
		t.Parallel()
		p := newOwnPlace(t)
		c := p.shell(script, "--ttl", "10m")
		c.Stderr = fullPipe(t)
		c.start(t)
		command := p.pid("command")
		p.breakLock("")
		c.want(t, 79)
		wantGone(t, command)
	})
}

// If the lease is over before the supervisor has come to start the command it does not start it.
func TestRunLateStart(t *testing.T) {
	t.Parallel()
	for name, deadline := range map[string]string{
		"over":        `{"Say":"deadline","Deadline":1,"Left":-1000000}`,
		"almost over": `{"Say":"deadline","Deadline":9000000000000000000,"Left":1000000}`, // the clocks disagree
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c, say, hear := supervised(t, "echo >"+dir+"/started")
			_, err := say.WriteString(deadline + "\n")
			check.NoError(t, err)
			c.start(t)
			answer := check.Must[string](t)(hear.ReadString('\n'))
			if !strings.Contains(answer, `"failed"`) || !strings.Contains(answer, "79") {
				t.Errorf("the supervisor says %s", answer)
			}
			c.status(t)
			if _, err := os.Stat(dir + "/started"); err == nil {
				t.Error("the command was started")
			}
		})
	}
}

// Whoever kills everything that is called redislock does not kill the supervisor, which ends the command then.
func TestRunSupervisorTitle(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/comm"); err != nil {
		t.Skip("there is no /proc")
	}
	p := newPlace(t)
	c := p.shell("echo $PPID >$D/supervisor; cat >/dev/null").piped(t)
	supervisor := p.written("supervisor")
	for _, file := range []string{"comm", "cmdline"} {
		text := check.Must[[]byte](t)(os.ReadFile("/proc/" + supervisor + "/" + file))
		if name, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte{0}); string(name) != "lock-supervisor" {
			t.Errorf("by its %s the supervisor is called %q", file, name)
		}
	}
	c.letEnd(t)
	c.want(t, 0)
}

// A command whose supervisor is killed while redislock cannot do anything is killed by the system, on Linux. That is a
// matter of threads of the supervisor, so it is tried several times.
func TestRunBothGone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the system does not do it")
	}
	for range 12 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c := p.shell("echo $PPID >$D/supervisor; echo $$ >$D/command; exec sleep 600", "--ttl", "10m").start(t)
			command, supervisor := p.pid("command"), p.pid("supervisor")
			check.NoError(t, c.Process.Signal(syscall.SIGSTOP))
			check.NoError(t, syscall.Kill(supervisor, syscall.SIGKILL))
			wantGone(t, command)
		})
	}
}

// A process that has ended, and whose parent has left the group and does not wait for it, does not keep the lock.
func TestRunZombie(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs the command setsid")
	}
	p := newPlace(t)
	// A shell does not wait for what it has started before it becomes another program.
	const script = `
(true & exec setsid sh -c 'echo $$ >$D/daemon; exec sleep 600') &
while ! [ -s $D/daemon ]; do sleep 0.01; done
`
	c := p.run(p.key, "--", "sh", "-c", script)
	c.Stdout, c.Stderr = nil, nil
	c.start(t)
	daemon := p.pid("daemon")
	t.Cleanup(func() { _ = syscall.Kill(daemon, syscall.SIGKILL) })
	c.want(t, 0)
	p.wantFree()
	if !isAlive(daemon) {
		t.Error("the daemon was ended, too")
	}
}
