package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
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
)

// role says what this test binary is when a test starts it: its name is what the tool looks for.
const role = "STALL_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "clock":
		tick(os.Getenv("STALL_FILE"))
	case "tool":
		_ = os.Setenv(role, "clock")
		main()
	default:
		os.Exit(m.Run())
	}
}

// tick writes the time into a file again and again, until nobody can want it any more.
func tick(name string) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; time.Sleep(time.Millisecond) {
		fmt.Fprintln(file, now())
	}
}

// now is the time in ns that all processes of a machine share.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

// A clock is a process that writes the time into a file. Its program is a test binary.
type clock struct {
	pid  int
	file string
}

// program is the path of this test binary.
func program(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// startClock starts a clock, which ends with the test.
func startClock(t *testing.T) clock {
	t.Helper()
	c := clock{file: filepath.Join(t.TempDir(), "clock")}
	cmd := exec.Command(program(t))
	cmd.Env = append(cmd.Environ(), role+"=clock", "STALL_FILE="+c.file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	c.pid = cmd.Process.Pid
	c.goesOn(t)
	return c
}

// times are what the clock has written.
func (c clock) times(t *testing.T) (found []int64) {
	t.Helper()
	text, err := os.ReadFile(c.file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		at, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, at)
	}
	return found
}

// goesOn fails if the clock stands still.
func (c clock) goesOn(t *testing.T) {
	t.Helper()
	before := len(c.times(t))
	eventually(t, "the clock goes on", func() bool { return len(c.times(t)) > before+1 })
}

func (c clock) stands() bool {
	p, ok := look(c.pid)
	return ok && p.stopped
}

// eventually waits for what has to come, however long that takes a busy machine.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for begin := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("after a minute it is not true that %s", what)
		}
	}
}

// draws are random numbers, with something that happens at each.
type draws struct {
	rand.Source
	each func()
}

func (d draws) Uint64() uint64 {
	d.each()
	return d.Source.Uint64()
}

func random(each func()) *rand.Rand { return rand.New(draws{rand.NewPCG(1, 0), each}) }

// A process that is stopped does nothing, and something between two stops.
func TestProcessesAreStopped(t *testing.T) {
	t.Parallel()
	c := startClock(t)
	enough, drawn := make(chan struct{}), 0
	s := newStopper(c.pid, 100*time.Millisecond, 30*time.Millisecond, random(func() {
		if drawn++; drawn == 60 {
			close(enough)
		}
	}))
	began, at := time.Now(), now()
	s.run(enough)
	c.goesOn(t)
	const soon = 10 * time.Millisecond // for the signal to reach another processor
	tried := 0
	for _, one := range s.made {
		from, to := at+int64(one.from.Sub(began)+soon), at+int64(one.to.Sub(began))
		if from < to {
			tried++
		}
		for _, tick := range c.times(t) {
			if from < tick && tick < to {
				t.Errorf("the clock went on %v after it was stopped for %v", time.Duration(tick-from)+soon, one.to.Sub(one.from))
			}
		}
	}
	if tried < 3 {
		t.Errorf("%d stops of more than %v: %s", tried, soon, s.text())
	}
}

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
	eventually(t, "there is "+name, func() bool {
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
	eventually(t, "the clock stands", c.stands)
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

// A defect of the tool leaves nothing behind that stands still.
func TestPanic(t *testing.T) {
	t.Parallel()
	c := startClock(t)
	s := newStopper(c.pid, time.Hour, time.Millisecond, random(func() {
		if c.stands() {
			panic("planted")
		}
	}))
	func() {
		defer func() { _ = recover() }()
		s.run(nil)
	}()
	c.goesOn(t)
}

// A process that somebody else has stopped is left alone, whether it stood still before or does so by a stop of the tool.
func TestOthersStopAsWell(t *testing.T) {
	t.Parallel()
	c := startClock(t)
	s := newStopper(c.pid, time.Hour, time.Millisecond, random(func() {}))
	eventually(t, "the clock is stopped", func() bool { s.stopOne(); return len(s.standing) == 1 })
	stop := func() {
		t.Helper()
		if err := unix.Kill(c.pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	s.goOn(c.pid, s.standing[c.pid])
	if !c.stands() {
		t.Error("the clock goes on although somebody else has stopped it")
	}
	s.end()
	c.goesOn(t)
	stop()
	eventually(t, "the clock stands", c.stands)
	if s.stopOne(); len(s.standing) != 0 {
		t.Error("a process is stopped that stood still before")
	}
}

// A stop ends when it shall, whenever the next one begins.
func TestDue(t *testing.T) {
	t.Parallel()
	s := newStopper(0, time.Second, time.Second, nil)
	now := time.Now()
	next := now.Add(time.Second)
	if got := s.due(next); got != next {
		t.Errorf("nothing stands still: due %v before the next stop", next.Sub(got))
	}
	for pid, in := range []time.Duration{2 * time.Second, 3 * time.Second} {
		s.standing[pid] = stop{to: now.Add(in)}
	}
	if got := s.due(next); got != next {
		t.Errorf("all stand for longer: due %v before the next stop", next.Sub(got))
	}
	s.standing[2] = stop{to: now}
	if got := s.due(next); got != now {
		t.Errorf("due %v after the end of a stop", got.Sub(now))
	}
}

// Processes beside the command are none of its own.
func TestBelow(t *testing.T) {
	t.Parallel()
	one, other := startClock(t), startClock(t)
	has := func(root, pid int) bool {
		for _, p := range below(root) {
			if p.pid == pid {
				return p.program == filepath.Base(program(t)) && p.parent == os.Getpid()
			}
		}
		return false
	}
	if !has(one.pid, one.pid) || !has(os.Getpid(), one.pid) || !has(os.Getpid(), other.pid) || has(one.pid, other.pid) {
		t.Errorf("below %d: %+v, below %d: %+v", one.pid, below(one.pid), os.Getpid(), below(os.Getpid()))
	}
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, arguments, want string }{
		{"line.test", "/tmp/go-build1/b001/line.test|-test.v", "line.test"},
		{"redislockotel.t", "/tmp/go-build1/b001/redislockotel.test", "redislockotel.test"},
		{"redis-server", "redis-server 127.0.0.1:6379||", "redis-server"},
		{"redis-sentinel", "redis-sentinel 127.0.0.1:6379||", "redis-sentinel"},
		{"ld-linux-x86-64", "/lib/ld-linux-x86-64.so.2|--library-path|/lib|/root/usr/bin/valkey-server|--port|0", "valkey-server"},
		{"ld-linux-x86-64", "/root/usr/bin/valkey-server 127.0.0.1:6379||", "valkey-server"},
		{"go", "go|test|./redis-server", ""}, {"sh", "sh|-c|redis-server", ""}, {"kworker", "", ""}, {"vi", "vi|line.test", ""},
	} {
		if got := programOf(test.name, strings.Split(test.arguments, "|")); got != test.want {
			t.Errorf("%+v: got %q", test, got)
		}
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
			eventually(t, "there are two loops", func() bool { return len(loops(tool.Process.Pid)) == 2 })
			running := loops(tool.Process.Pid)
			if err := end(tool); err != nil {
				t.Fatal(err)
			}
			for _, pid := range running {
				eventually(t, "a loop has ended", gone(pid))
			}
			if state, _ := tool.Process.Wait(); name == "the command ends" && state.ExitCode() != 128+int(syscall.SIGTERM) {
				t.Errorf("got %v", state)
			}
		})
	}
}
