package work_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/seed-14de3678/redislock/internal/check"
	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/torture/history"
	"github.com/seed-14de3678/redislock/proof/torture/work"
	"github.com/seed-14de3678/redislock/proof/torture/world"
)

// start runs a worker in a process of its own, and returns when it is ready.
func start(t *testing.T, c work.Config) *redistest.Process {
	t.Helper()
	text, err := json.Marshal(c)
	check.NoError(t, err)
	p := redistest.StartRole(t, "worker", string(text))
	if line, err := p.ReadLine(time.Minute); line != "ready" || err != nil {
		t.Fatalf("the process says %q, %v", line, err)
	}
	return p
}

// TestRole stops a process for a while, and then has it end.
func TestRole(t *testing.T) {
	t.Parallel()
	target, rdbs := serve(t, world.Single)
	folder := t.TempDir()
	p := start(t, work.Config{
		Process: 7, Seed: 2, Target: target, Load: "sets", Keys: work.Keys(world.Single), Clients: 3,
		History: filepath.Join(folder, "7.jsonl"),
	})
	has := func(kind history.Kind) bool {
		return slices.ContainsFunc(read(t, folder).Events, func(e history.Event) bool { return e.Kind == kind })
	}
	check.Eventually(t, time.Minute, "an operation", func() bool { return has(history.Return) })
	p.Pause()
	stopped := history.Now()
	time.Sleep(300 * time.Millisecond)
	resumed := history.Now()
	p.Resume()
	told := func(e history.Event) bool { return e.Kind == history.Stall && e.At-e.For <= stopped && e.At >= resumed }
	check.Eventually(t, time.Minute, "the stall", func() bool { return slices.ContainsFunc(read(t, folder).Events, told) })
	check.NoError(t, syscall.Kill(p.PID(), syscall.SIGTERM))
	check.NoError(t, p.Wait())

	h := read(t, folder)
	if last := h.Events[len(h.Events)-1]; last.Kind != history.Left || last.Process != 7 {
		t.Errorf("the last event is %+v", last)
	}
	checkHistory(t, h, 1)
	checkLeft(t, rdbs)
}

// TestKilled kills a process. What it has written down can be read, and its locks end by themselves.
func TestKilled(t *testing.T) {
	t.Parallel()
	target, rdbs := serve(t, world.Single)
	folder := t.TempDir()
	p := start(t, work.Config{
		Process: 1, Seed: 3, Target: target, Load: "queue", Keys: work.Keys(world.Single), Clients: 4,
		History: filepath.Join(folder, "1.jsonl"),
	})
	obtained := func(o history.Operation) bool { return o.Action == history.Obtain && o.Outcome == history.OK }
	check.Eventually(t, time.Minute, "a lock", func() bool { return slices.ContainsFunc(read(t, folder).Operations(), obtained) })
	p.Kill()
	if slices.ContainsFunc(read(t, folder).Events, func(e history.Event) bool { return e.Kind == history.Left }) {
		t.Error("a process that was killed says that it has left")
	}
	checkLeft(t, rdbs, "redislock:line")
}

// TestBadConfig wants an error for what no process can play.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]work.Config{
		"load":    {Load: "none"},
		"servers": {Load: "sets", History: filepath.Join(t.TempDir(), "1.jsonl")},
		"history": {Load: "sets", History: filepath.Join(t.TempDir(), "no", "1.jsonl")},
	} {
		if err := work.Run(t.Context(), c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
