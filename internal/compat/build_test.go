//go:build compat

package compat_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seed-14de3678/redislock/internal/compat"
	"github.com/seed-14de3678/redislock/internal/redistest"
)

// root is the tree, from here.
const root = "../.."

// The two versions.
const (
	older = "old"
	newer = "new"
)

// tags are those with which the program of each version is built.
var tags = map[string]string{older: "earlier", newer: ""}

// scratch is where the programs are; TestMain removes it.
var scratch string

func TestMain(m *testing.M) {
	redistest.Main(m, func() {
		if scratch != "" {
			_ = os.RemoveAll(scratch)
		}
	})
}

// programs builds both once, and returns where they are, by version.
var programs = sync.OnceValues(func() (map[string]string, error) {
	var err error
	if scratch, err = os.MkdirTemp("", "compat-"); err != nil {
		return nil, err
	}
	tree := filepath.Join(scratch, "tree")
	if err := checkOut(tree); err != nil {
		return nil, err
	}
	built := map[string]string{}
	for version, dir := range map[string]string{older: tree, newer: root} {
		built[version] = filepath.Join(scratch, version)
		build := exec.Command("go", "build", "-tags", tags[version], "-o", built[version], "./internal/compat/peer")
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("the %s program cannot be built: %w: %s", version, err, out)
		}
	}
	return built, nil
})

// checkOut puts the earlier commit into a folder, with the source of the peer as it is in this tree.
func checkOut(tree string) error {
	if err := exec.Command("git", "-C", root, "cat-file", "-e", compat.Base+"^{commit}").Run(); err != nil {
		return fmt.Errorf("the repository has no commit %s: if the clone is shallow, git fetch --unshallow brings it (%w)",
			compat.Base, err)
	}
	archive := exec.Command("git", "-C", root, "archive", compat.Base)
	var stderr bytes.Buffer
	archive.Stderr = &stderr
	out, err := archive.Output()
	if err != nil {
		return fmt.Errorf("git archive: %w: %s", err, &stderr)
	}
	if err := unpack(tree, tar.NewReader(bytes.NewReader(out))); err != nil {
		return err
	}
	for _, dir := range []string{"internal/compat", "internal/compat/peer"} {
		files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			return err
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := write(filepath.Join(tree, dir, filepath.Base(file)), content); err != nil {
				return err
			}
		}
	}
	return nil
}

func unpack(to string, from *tar.Reader) error {
	for {
		header, err := from.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg || !filepath.IsLocal(header.Name) {
			continue
		}
		content, err := io.ReadAll(from)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(to, header.Name), content); err != nil {
			return err
		}
	}
}

func write(file string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}
