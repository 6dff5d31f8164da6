package install_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-14de3678/redislock/internal/check"
)

// A version has the files that a commit would have and that belong to its module, and the licence of the repo.
func TestContent(t *testing.T) {
	t.Parallel()
	dir := repoWith(t, "new.go", "package lock\n")
	writeFile(t, dir, ".gitignore", "*.out\n")
	writeFile(t, dir, "cpu.out", "ignored")
	writeFile(t, dir, "gone.go", "package lock\n")
	check.Must[string](t)(git(t.Context(), dir, "add", "gone.go"))
	check.NoError(t, os.Remove(filepath.Join(dir, "gone.go")))
	if err := os.Symlink("obtain.lua", filepath.Join(dir, "link.lua")); err != nil {
		t.Logf("without a symbolic link: %v", err)
	}
	root := []string{".gitignore", "LICENSE", "go.mod", "go.work", "internal/wire/wire.go", "lock.go", "new.go", "obtain.lua"}
	tool, metrics := []string{"LICENSE", "go.mod", "main.go"}, []string{"LICENSE", "go.mod", "metrics.go", "metrics_test.go"}
	wantContent(t, dir, root, tool, metrics)

	// Without git everything counts.
	check.NoError(t, os.RemoveAll(filepath.Join(dir, ".git")))
	writeFile(t, dir, ".bin/tool.go", "package main\n")
	wantContent(t, dir, slices.Sorted(slices.Values(append(root, "cpu.out"))), tool, metrics)

	// The repo of somebody else around it says nothing of the checkout.
	check.Must[string](t)(git(t.Context(), dir, "init", "--quiet"))
	inner := filepath.Join(dir, "metrics")
	files := check.Must[tree](t)(readTree(t.Context(), inner))
	want := []string{"go.mod", "metrics.go", "metrics_test.go", "vendor/a/a.go"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(files))); diff != "" {
		t.Errorf("files in another repo (-want +got):\n%s", diff)
	}
}

// wantContent checks the files of each module that is offered.
func wantContent(t *testing.T, dir string, modules ...[]string) {
	t.Helper()
	c := check.Must[checkout](t)(openCheckout(t.Context(), dir))
	for i, want := range modules {
		got := slices.Sorted(maps.Keys(c.offered[i].content()))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.offered[i].module, diff)
		}
	}
}

func TestVendored(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"vendor.go": false, "vendor/vendor.go": false, "vendor/modules.txt": true, "a/vendor/modules.txt": false,
		"vendor/a/a.go": true, "a/vendor/b.go": false, "a/vendor/b/b.go": true, "a/myvendor/b/b.go": false,
	} {
		if got := vendored(name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	tags := []string{"v0.9.1", "v0.10.0", "v0.10.1-rc.1", "v0.11", "metrics/v1.2.3", "other/v7.0.0"}
	for prefix, want := range map[string]string{"": "v0.10.1", "metrics/": "v1.2.4", "new/": "v0.1.0"} {
		if got := next(tags, prefix); got != want {
			t.Errorf("%q: got %s, want %s", prefix, got, want)
		}
	}
}
