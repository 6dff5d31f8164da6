package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/cmd/redislock/internal/cli"
	"github.com/seed-14de3678/redislock/internal/check"
)

// children are the processes that a process has started.
func children(t *testing.T, pid int) (all []int) {
	t.Helper()
	for _, file := range check.Must[[]string](t)(filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))) {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		for word := range strings.FieldsSeq(string(text)) {
			all = append(all, check.Must[int](t)(strconv.Atoi(word)))
		}
	}
	return all
}

func running(pid int) bool { return syscall.Kill(pid, 0) == nil }

// When one process of the load is killed the others end, and what it has left goes.
func TestTuneLosesAProcess(t *testing.T) {
	t.Parallel()
	rdb, url := tuneServer(t)
	p := startTune(t, rdb, url)
	load := children(t, p.Process.Pid)
	if len(load) != 2 {
		t.Fatalf("%d processes of the load, want 2", len(load))
	}
	check.NoError(t, syscall.Kill(load[0], syscall.SIGKILL))
	if status := p.status(t); status != cli.Failed || !strings.Contains(p.stderr.String(), fmt.Sprintf("process %d of the load has ended, signal: killed", load[0])) {
		t.Errorf("status %d, stderr %q", status, &p.stderr)
	}
	wantNothingLeft(t, rdb)
	for _, pid := range load {
		if running(pid) {
			t.Errorf("process %d still runs", pid)
		}
	}
}

// A load that stands still again and again concludes nothing.
func TestTuneOnABusyMachine(t *testing.T) {
	t.Parallel()
	rdb, url := tuneServer(t)
	p := newProcess(t, tuneWith("--redis", url, "--for", "4s", "--no-defaults", "--policy", "queue", "--policy", "line=queue", "--pattern", "orders:%d")...).start(t)
	playing(t, rdb, p, "orders:1", "orders:2")
	load := children(t, p.Process.Pid)
	if len(load) != 1 {
		t.Fatalf("%d processes of the load, want 1", len(load))
	}
	for stopped := true; running(load[0]); stopped = !stopped { // half of the time
		_ = syscall.Kill(load[0], map[bool]syscall.Signal{true: syscall.SIGSTOP, false: syscall.SIGCONT}[stopped])
		time.Sleep(40 * time.Millisecond)
	}
	if status := p.status(t); status != 0 {
		t.Errorf("status %d, stderr %q", status, &p.stderr)
	}
	wantText(t, "stdout", p.stdout.String(), "The machine was too busy to conclude: timers of the load were late for ")
	wantText(t, "stdout", p.stdout.String(), "So what follows is not certain.")
	wantNothingLeft(t, rdb)
}
