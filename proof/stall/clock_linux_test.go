package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/seed-14de3678/redislock/internal/check"
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
		_, _ = fmt.Fprintln(file, now())
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
	check.Eventually(t, 30*time.Second, "the clock goes on", func() bool { return len(c.times(t)) > before+1 })
}

func (c clock) stands() bool {
	p, ok := look(c.pid)
	return ok && p.stopped
}

// threads reports whether each thread of the clock is in a state.
func (c clock) threads(t *testing.T, state string) bool {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", c.pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d has no threads: %v", c.pid, err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && !strings.Contains(string(text), "\nState:\t"+state) {
			return false
		}
	}
	return true
}
