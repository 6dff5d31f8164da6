package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-14de3678/redislock/internal/check"
)

// What stands still when the command ends goes on, and the exit status is that of the command.
func TestEverythingGoesOnAtTheEnd(t *testing.T) {
	t.Parallel()
	c := clock{file: filepath.Join(t.TempDir(), "clock")}
	const script = `"$@" & echo $! >"$0"; until grep -q '^State:.T' /proc/$!/status; do sleep 0.01; done; exit 7`
	var said bytes.Buffer
	j := job{
		longest: time.Hour, every: time.Millisecond, seed: 1, out: &said, command: []string{
			"/bin/sh", "-c", script, c.file + ".pid", "env", role + "=clock", "STALL_FILE=" + c.file, program(t),
		},
	}
	status, err := j.run()
	if status != 7 || err != nil {
		t.Errorf("got %d, %v", status, err)
	}
	c.pid = pidIn(t, c.file+".pid")
	c.goesOn(t)
	if want := "stall: 1 stops: 1 of " + filepath.Base(program(t)) + "; "; !strings.HasPrefix(said.String(), want) {
		t.Errorf("it says %q, want %q", &said, want)
	}
}

// pidIn reads the number of a process, which ends with the test.
func pidIn(t *testing.T, name string) (pid int) {
	t.Helper()
	check.Eventually(t, 30*time.Second, "there is "+name, func() bool {
		text, err := os.ReadFile(name)
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err == nil
	})
	t.Cleanup(func() { _ = unix.Kill(pid, unix.SIGKILL) })
	return pid
}

// startTool starts the tool in a process of its own, with a command that reads its standard input.
func startTool(t *testing.T, c clock, arguments ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program(t), arguments...)
	cmd.Env = append(cmd.Environ(), role+"=tool", "STALL_FILE="+c.file)
	if _, err := cmd.StdinPipe(); err != nil { // closed by Wait
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// After a signal everything goes on at once, the command gets that as well, and the tool waits for it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	c := clock{file: filepath.Join(t.TempDir(), "clock")}
	const script = `trap 'until [ -e "$0.on" ]; do sleep 0.01; done; rm "$0"; exit 5' TERM
"$1" & echo $! >"$0"; while kill -0 $! 2>/dev/null; do wait; sleep 0.01; done`
	tool := startTool(t, c, "-longest", "1h", "-every", "1ms", "--", "/bin/sh", "-c", script, c.file+".pid", program(t))
	c.pid = pidIn(t, c.file+".pid")
	check.Eventually(t, 30*time.Second, "the clock stands", c.stands)
	if err := tool.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.goesOn(t)
	if err := os.WriteFile(c.file+".pid.on", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_ = tool.Wait()
	if got := tool.ProcessState.ExitCode(); got != 5 {
		t.Errorf("got status %d", got)
	}
	if _, err := os.Stat(c.file + ".pid"); err == nil {
		t.Error("the tool did not wait for the command")
	}
}

// The exit status says how a command ended, or that it could not be run.
func TestStatus(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]int{"exit 0": 0, "exit 3": 3, "kill -9 $$": 137} {
		var said bytes.Buffer
		j := job{every: time.Second, out: &said, command: []string{"/bin/sh", "-c", command}}
		if got, err := j.run(); got != want || err != nil {
			t.Errorf("%s: got %d, %v", command, got, err)
		}
		if want := "stall: 0 stops; 0s in all"; !strings.HasPrefix(said.String(), want) {
			t.Errorf("%s: it says %q", command, &said)
		}
	}
	j := job{every: time.Second, command: []string{filepath.Join(t.TempDir(), "none")}}
	if got, err := j.run(); got != failed || err == nil {
		t.Errorf("got %d, %v", got, err)
	}
}

// The command has as many processors as it may have, and this process those that it had.
func TestCores(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	had := affinity(t)
	name := filepath.Join(t.TempDir(), "cores")
	j := job{cores: 1, every: time.Second, out: &bytes.Buffer{}, command: []string{"/bin/sh", "-c", `grep ^Cpus_allowed_list: /proc/$$/status >"$0"`, name}}
	if status, err := j.run(); status != 0 || err != nil {
		t.Fatalf("got %d, %v", status, err)
	}
	text, err := os.ReadFile(name)
	if _, list, _ := strings.Cut(string(text), ":"); err != nil || strings.ContainsAny(list, ",-") {
		t.Errorf("the command has %s, %v", text, err)
	}
	if affinity(t) != had {
		t.Error("this process has other processors than before")
	}
	j.cores = had.Count() + 1
	if status, err := j.run(); status != failed || err == nil {
		t.Errorf("%d processors: got %d, %v", j.cores, status, err)
	}
}

func affinity(t *testing.T) (set unix.CPUSet) {
	t.Helper()
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	return set
}

// Loops run beside the command, and end with it, or with the tool if that is killed.
func TestLoops(t *testing.T) {
	t.Parallel()
	loops := func(tool int) (found []int) {
		for _, p := range below(tool) {
			if text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid)); strings.Contains(string(text), "while :") {
				found = append(found, p.pid)
			}
		}
		return found
	}
	gone := func(pid int) func() bool {
		return func() bool { _, runs := look(pid); return !runs }
	}
	for name, end := range map[string]func(*exec.Cmd) error{
		"the command ends":   func(tool *exec.Cmd) error { return tool.Process.Signal(unix.SIGTERM) },
		"the tool is killed": func(tool *exec.Cmd) error { return tool.Process.Signal(unix.SIGKILL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := startTool(t, clock{}, "-busy", "2", "--", "cat")
			check.Eventually(t, 30*time.Second, "there are two loops", func() bool { return len(loops(tool.Process.Pid)) == 2 })
			running := loops(tool.Process.Pid)
			if err := end(tool); err != nil {
				t.Fatal(err)
			}
			for _, pid := range running {
				check.Eventually(t, 30*time.Second, "a loop has ended", gone(pid))
			}
			if state, _ := tool.Process.Wait(); name == "the command ends" && state.ExitCode() != 128+int(syscall.SIGTERM) {
				t.Errorf("got %v", state)
			}
		})
	}
}
