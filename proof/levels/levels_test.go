package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
	earlier.Need(t, root, err)
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
			var got course.Usage
			possible := false
			for try := 0; try < 3 && !possible; try++ { // counts of the runtime may be a little behind, and a block is very short here
				if got, err = s.block(i, ops); err != nil {
					t.Fatal(err)
				}
				possible = isOf(got, kind, ops)
			}
			if !possible {
				t.Errorf("%s, %s: got %+v", s.version.name, kind.Name, got)
			}
		}
	}
	writesProfiles(t, b)
	failsToBlock(t, b.sides[0])
}

// isOf reports whether so many operations of a kind may have used that.
func isOf(got course.Usage, kind course.Kind, ops int) bool {
	served := got.Commands >= ops && got.Commands <= 40*kind.Keys*ops && got.Bytes >= 50*ops
	if kind.Place == course.Memory {
		served = got.Commands == 0 && got.Bytes == 0 && got.Server == 0
	}
	return got.Ops == ops && served && got.Allocs >= ops && got.Heap >= 50*ops && got.Wall > 0
}

// writesProfiles shows that each kind has a profile of its own.
func writesProfiles(t *testing.T, b *bench) {
	t.Helper()
	dir := t.TempDir()
	if err := b.profile(dir, []int{kindOf(t, "in memory: go-redis alone")}); err != nil {
		t.Fatal(err)
	}
	const zipped = "\x1f\x8b"
	if text, err := os.ReadFile(filepath.Join(dir, "in-memory-go-redis-alone.pprof")); err != nil || !strings.HasPrefix(string(text), zipped) {
		t.Errorf("got a profile of %d bytes, %v", len(text), err)
	}
}

// planted is the tree with a script that takes longer, and with more allocations for each token.
func planted(t *testing.T) version {
	t.Helper()
	dir, replaced := t.TempDir(), map[string]string{}
	for name, edit := range map[string]func(string) string{
		"obtain.lua": func(text string) string { return "for _ = 1, 20000 do end\n" + text },
		"internal/owners/token.go": func(text string) string {
			text = strings.Replace(text, "func NewToken() string {", "func NewToken() string {\n\tfor range 20 {\n\t\twaste = new([100]byte)\n\t}", 1)
			return text + "\nvar waste *[100]byte\n"
		},
	} {
		source, err := filepath.Abs(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		replaced[source] = filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(replaced[source], []byte(edit(string(text))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := plant.Overlay(dir, replaced)
	if err != nil {
		t.Fatal(err)
	}
	return version{name: tree.name, overlay: overlay}
}

// A script that takes longer is found, by the operations that call it, and so is what the library itself does more, where no
// server hides it. The counts of operations that do neither are the same.
func TestPlantedSlowDown(t *testing.T) {
	t.Parallel()
	b := opened(t, planted(t), version{name: before.name})
	kinds := []int{kindOf(t, "a free key"), kindOf(t, "a Refresh"), kindOf(t, "in memory: a free key")}
	results, err := b.measure(t.Context(), kinds, 3*fewest)
	if err != nil {
		t.Fatal(err)
	}
	lines := linesOf(results)
	got := failures(lines)
	if len(got) == 0 || !strings.HasPrefix(got[0], "a free key: server CPU ") {
		t.Errorf("got failures %q, want the server's time of a free key", got)
	}
	if last := got[max(0, len(got)-1):]; len(last) == 0 || !strings.HasPrefix(last[0], "in memory: a free key: ") ||
		!strings.Contains(last[0], "allocations ") || !strings.Contains(last[0], "bytes allocated ") || strings.Contains(last[0], "server") {
		t.Errorf("got failures %q, want the allocations of a free key in memory", got)
	}
	for i, m := range metrics {
		if ratio := lines[1].before[i].ratio; m.counted && judge(ratio, mostAbove) != holds {
			t.Errorf("%s of a Refresh: got %v", m.name, ratio)
		}
	}
}

// What limits refer to is measured, too, once.
func TestChoose(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string][]string{
		"^a Refresh$":                      {"a Refresh"},
		"^a refused":                       {"a refused attempt", "the least script with the reply of a refusal"},
		"^in memory.*(can end|with Queue)": {"in memory: a free key", "in memory: a free key, a context that can end", "in memory: a free key, with Queue"},
		"no such kind":                     nil,
	} {
		var got []string
		for _, i := range choose(regexp.MustCompile(pattern)) {
			got = append(got, course.Kinds[i].Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
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
		"no kind matches": {"-kinds", "no such kind"},
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
	if err := s.worker.Input.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.block(free, 1); err == nil || !strings.HasPrefix(err.Error(), s.version.name+": ") {
		t.Errorf("got %v of a worker that has ended", err)
	}
}
