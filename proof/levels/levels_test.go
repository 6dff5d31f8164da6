package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/seed-14de3678/redislock/internal/redistest"
	"github.com/seed-14de3678/redislock/proof/earlier"
	"github.com/seed-14de3678/redislock/proof/levels/course"
	"github.com/seed-14de3678/redislock/proof/plant"
)

const root = "../.."

func TestMain(m *testing.M) { redistest.Main(m) }

// opened is open for a test. It skips the test if the clone lacks a commit because it is shallow.
func opened(t *testing.T, versions ...version) *bench {
	t.Helper()
	redistest.Need(t, "redis-server")
	b, err := open(context.WithoutCancel(t.Context()), root, versions...) // it is closed when the test is over
	if errors.Is(err, earlier.ErrMissing) {
		shallow, _ := exec.CommandContext(t.Context(), "git", "-C", root, "rev-parse", "--is-shallow-repository").Output()
		if strings.TrimSpace(string(shallow)) == "true" {
			t.Skipf("not run: needs a commit that this shallow clone lacks: %v", err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// Every version can be built, and does a few operations of each kind. Each operation costs the server a command at least, but
// no version has more than a few commands for each key. What goes wrong with a block is told.
func TestVersions(t *testing.T) {
	t.Parallel()
	b := opened(t, tree, before, old)
	for i, kind := range course.Kinds {
		sides, err := b.at(context.WithoutCancel(t.Context()), kind.Place)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sides {
			ops := 2 * kind.Callers
			got, err := s.block(i, ops)
			if err != nil {
				t.Fatal(err)
			}
			served := got.Commands >= ops && got.Commands <= 40*kind.Keys*ops && got.Bytes >= 50*ops
			if kind.Place == course.Memory {
				served = got.Commands == 0 && got.Bytes == 0 && got.Server == 0
			}
			if got.Ops != ops || !served || got.Allocs < ops || got.Heap < 50*ops || got.Wall <= 0 {
				t.Errorf("%s, %s: got %+v", s.version.name, kind.Name, got)
			}
		}
	}
	failsToBlock(t, b.sides[0])
}

// A script that takes longer is found, by the operations that call it. The counts of those that do not call it are the same.
func TestPlantedSlowDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	source, err := filepath.Abs(filepath.Join(root, "obtain.lua"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	slow := filepath.Join(dir, "slow.lua")
	if err := os.WriteFile(slow, append([]byte("for _ = 1, 20000 do end\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	planted := version{name: tree.name}
	if planted.overlay, err = plant.Overlay(dir, map[string]string{source: slow}); err != nil {
		t.Fatal(err)
	}
	b := opened(t, planted, version{name: before.name})
	kinds := []int{kindOf(t, "a free key"), kindOf(t, "a Refresh")}
	results, err := b.measure(t.Context(), kinds, 3*fewest)
	if err != nil {
		t.Fatal(err)
	}
	lines := linesOf(results)
	if got := failures(lines); len(got) == 0 || !strings.HasPrefix(got[0], "a free key: server CPU ") {
		t.Errorf("got failures %q, want the server's time of a free key", got)
	}
	for i, m := range metrics {
		if ratio := lines[1].before[i].ratio; m.counted && judge(ratio, mostAbove) != holds {
			t.Errorf("%s of a Refresh: got %v", m.name, ratio)
		}
	}
}

func kindOf(t *testing.T, name string) int {
	t.Helper()
	i := slices.IndexFunc(course.Kinds, func(k course.Kind) bool { return k.Name == name })
	if i < 0 {
		t.Fatalf("no kind is called %q", name)
	}
	return i
}

// What a command line asks for wrongly is told before anything is built.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		"missing closing": {"-kinds", "("},
		"go.work":         {"-root", t.TempDir()},
	} {
		if err := run(context.Background(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}

// failsToBlock shows that a block which cannot be done is told, with its version and kind, and so is a worker that has ended.
func failsToBlock(t *testing.T, s *side) {
	t.Helper()
	free := kindOf(t, "a free key")
	asks := redis.NewClient(&redis.Options{Addr: s.server.Addr()})
	defer func() { _ = asks.Close() }()
	if err := asks.HSet(t.Context(), fmt.Sprintf("lock:order:%02d:0", free), "field", "no lock").Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.block(free, 1); err == nil || !strings.HasPrefix(err.Error(), s.version.name+": a free key: ") {
		t.Errorf("got %v, want what has failed with its version and kind", err)
	}
	if err := s.input.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.block(free, 1); err == nil || !strings.HasPrefix(err.Error(), s.version.name+": ") {
		t.Errorf("got %v of a worker that has ended", err)
	}
}
