package cost_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A program that uses go-redis has a few packages more with this library. Another one is a decision: `make weigh` says
// what it weighs.
func TestPackagesLinked(t *testing.T) {
	t.Parallel()
	const module = "github.com/seed-14de3678/redislock"
	had := packagesOf(t, "github.com/redis/go-redis/v9")
	var got []string
	for _, name := range packagesOf(t, module) {
		if !slices.Contains(had, name) && !strings.HasPrefix(name, module) {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	want := []string{
		"embed",
		"github.com/cenkalti/backoff/v4",
		"log/slog",
		"log/slog/internal",
		"log/slog/internal/buffer",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("linked beside go-redis (-want +got):\n%s", diff)
	}
}

// packagesOf lists a package and all that it imports, and so on.
func packagesOf(t *testing.T, name string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// A program that imports the library begins no later for it: what it needs is made when it is first needed.
func TestStart(t *testing.T) {
	t.Parallel()
	const module, mostBytes, mostAllocs = "github.com/seed-14de3678/redislock", 8 << 10, 200
	linked := packagesOf(t, module)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found := false
	for line := range strings.Lines(string(out)) {
		name, figures, ok := strings.Cut(strings.TrimPrefix(line, "init "), " @")
		if !ok || !strings.HasPrefix(name, module) || !slices.Contains(linked, name) {
			continue
		}
		var at, clock float64
		var bytes, allocs int
		if _, err := fmt.Sscanf(figures, "%g ms, %g ms clock, %d bytes, %d allocs", &at, &clock, &bytes, &allocs); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		found = found || name == module
		if bytes > mostBytes || allocs > mostAllocs {
			t.Errorf("%s allocates %d bytes in %d pieces at the start, want at most %d in %d", name, bytes, allocs, mostBytes, mostAllocs)
		}
	}
	if !found {
		t.Errorf("the runtime says nothing of %s:\n%s", module, out)
	}
}
