package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/seed-14de3678/redislock/internal/check"
)

// Two runs give the same bytes, and what is in the archive for this machine runs and knows its version. The other
// systems are built by `make dist`, and looked at by `make lint`. Unlike there, it is built with the setting for cgo that
// other tests have, so that what they have compiled need not be compiled once more.
func TestDist(t *testing.T) {
	t.Parallel()
	here := target{runtime.GOOS, runtime.GOARCH}
	if !slices.Contains(targets, here) || here.system == "windows" {
		t.Skip("not run: needs a system with tar.gz archives")
	}
	cgo := check.Must[[]byte](t)(exec.CommandContext(t.Context(), "go", "env", "CGO_ENABLED").Output())
	var runs [2]map[string][]byte
	for i := range runs {
		j := job{root: filepath.Join("..", ".."), out: filepath.Join(t.TempDir(), "dist"), version: "v1.2.3", targets: []target{here}, cgo: string(bytes.TrimSpace(cgo))}
		check.NoError(t, j.run(t.Context()))
		runs[i] = readAll(t, j.out)
	}
	name := "redislock_v1.2.3_" + here.system + "_" + here.machine + ".tar.gz"
	if got, want := slices.Sorted(maps.Keys(runs[0])), []string{"SHA256SUMS", name}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for name, content := range runs[0] {
		if !bytes.Equal(content, runs[1][name]) {
			t.Errorf("%s differs from run to run", name)
		}
	}
	if got, want := string(runs[0]["SHA256SUMS"]), string(sums(map[string][]byte{name: runs[0][name]})); got != want {
		t.Errorf("the sums are %q, want %q", got, want)
	}
	testArchive(t, runs[0][name], strings.TrimSuffix(name, ".tar.gz"))
}

func readAll(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, entry := range check.Must[[]os.DirEntry](t)(os.ReadDir(dir)) {
		files[entry.Name()] = check.Must[[]byte](t)(os.ReadFile(filepath.Join(dir, entry.Name())))
	}
	return files
}

func testArchive(t *testing.T, archive []byte, top string) {
	t.Helper()
	dir := t.TempDir()
	zipped := check.Must[*gzip.Reader](t)(gzip.NewReader(bytes.NewReader(archive)))
	var names []string
	for in := tar.NewReader(zipped); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		check.NoError(t, err)
		names = append(names, strings.TrimPrefix(h.Name, top+"/"))
		content := check.Must[[]byte](t)(io.ReadAll(in))
		check.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), content, h.FileInfo().Mode()))
	}
	want := []string{
		"redislock", "LICENSE", "man/redislock.1", "man/redislock-break.1", "man/redislock-demo.1", "man/redislock-doctor.1",
		"man/redislock-ls.1", "man/redislock-run.1", "man/redislock-show.1", "man/redislock-tree.1", "man/redislock-tune.1",
		"man/redislock-version.1", "man/redislock-wait.1", "man/redislock-watch.1",
		"completions/redislock.bash", "completions/_redislock", "completions/redislock.fish",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the archive has %q, want %q", names, want)
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "redislock"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "redislock v1.2.3\n") || !strings.Contains(string(out), "\nlibrary v1.2.3\n") {
		t.Errorf("redislock version: %v, %q", err, out)
	}
}

func TestNoVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "1 2", "../x"} {
		if err := (job{version: version}).run(t.Context()); err == nil {
			t.Errorf("%q: no error", version)
		}
	}
}
